import type { Claim } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Lease, NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { describeOf } from './features.js';
import {
  checkpointOf,
  dueSince,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  started,
  stateOf,
  stepOf,
  type StoreSubject,
  TOLERANCE_MS,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeSagaLimit(subject: () => StoreSubject): void {
  const due = async (count: number, given: Partial<NewSaga> = {}): Promise<NewSaga[]> => {
    const sagas = Array.from({ length: count }, () => newSaga(given));
    await subject().store.start(sagas, WORKER);
    return sagas;
  };
  const claim = (
    name: string,
    maxLeases: number,
    { limit = 100, lease = WORKER, version = 1 }: { limit?: number; lease?: Lease; version?: number } = {},
  ): Promise<Claim> => subject().store.claim({ lease, sagas: [{ name, version, maxLeases }], limit });
  const ids = ({ sagas }: Claim) => sagas.map(({ id }) => id);
  const end = (saga: StoredSaga) => subject().store.checkpoint([lastCheckpointOf(saga)]);
  const one = ({ sagas }: Claim): StoredSaga => {
    expect(sagas).toHaveLength(1);
    return sagas[0]!;
  };
  const announcedSince = (received: number) => dueSince(subject(), received);

  describe('a limit', () => {
    test('lets so many of a name be leased at once, the most urgent first', async () => {
      const name = uniqueName();
      const byPriority = new Map<number, string>();
      for (const priority of [10, 50, 30, 40, 20])
        byPriority.set(priority, (await started(subject().store, { name, priority })).id);
      const first = await claim(name, 2);
      expect(ids(first)).toEqual([50, 40].map((priority) => byPriority.get(priority)));
      expect(first.sagas).toEqual([
        await loaded(subject().store, first.sagas[0]!.id),
        await loaded(subject().store, first.sagas[1]!.id),
      ]);
      expect(ids(await claim(name, 2, { lease: OTHER_WORKER }))).toEqual([]);
      await end(first.sagas[1]!);
      expect(ids(await claim(name, 2, { lease: OTHER_WORKER }))).toEqual([byPriority.get(30)]);
      expect(ids(await claim(name, 2))).toEqual([]);
    });

    test('is of one name, in all its versions', async () => {
      const [name, another] = [uniqueName(), uniqueName()];
      await due(2, { name, version: 1 });
      await due(2, { name, version: 2 });
      await due(2, { name: another });
      const sagas = [1, 2].map((version) => ({ name, version, maxLeases: 3 }));
      const all = [...sagas, { name: another, version: 1, maxLeases: 1 }];
      const claimed = await subject().store.claim({ lease: WORKER, sagas: all, limit: 100 });
      expect(claimed.sagas.map((saga) => saga.name).sort()).toEqual([name, name, name, another].sort());
      for (const version of [1, 2]) expect(ids(await claim(name, 3, { version }))).toEqual([]);
    });

    test.each<[string, (saga: StoredSaga) => Promise<unknown>]>([
      ['ends', end],
      ['is stuck', (saga) => subject().store.checkpoint([lastCheckpointOf(saga, 'stuck')])],
      [
        'waits for a retry',
        (saga) =>
          subject().store.checkpoint([
            checkpointOf(saga, stateOf('running', { pay: stepOf() }), { release: { dueAt: 4e12 } }),
          ]),
      ],
      [
        'is aborted by an operator',
        ({ id }) => subject().store.edit({ id }, () => ({ state: stateOf('aborted'), step: '', due: false })),
      ],
    ])('has room for another once a saga %s', async (_, givesWay) => {
      const name = uniqueName();
      const [first, second] = (await due(2, { name })) as [NewSaga, NewSaga];
      const saga = one(await claim(name, 1));
      await givesWay(saga);
      expect(ids(await claim(name, 1))).toEqual([saga.id === first.id ? second.id : first.id]);
    });

    test('is used by a saga for as long as its lease is renewed, and by the worker that takes it over', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const saga = one(await due(1, { name }).then(() => claim(name, 1)));
      await due(1, { name, delay: 10 * LEASE_MS });
      await advance(LEASE_MS - 5_000);
      await store.renew([saga], WORKER);
      await advance(LEASE_MS - 5_000);
      expect(ids(await claim(name, 1))).toEqual([]);
      await advance(5_000);
      expect(one(await claim(name, 1, { lease: OTHER_WORKER }))).toMatchObject({
        ...{ id: saga.id, lockedBy: OTHER_WORKER.worker, takeovers: 1 },
      });
      await advance(LEASE_MS - 5_000);
      await due(1, { name, priority: 100 });
      expect(ids(await claim(name, 1))).toEqual([]);
    });

    test('takes an expired lease from its holder before another saga gets its slot', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const lost = one(await due(1, { name }).then(() => claim(name, 1)));
      const [urgent] = await due(1, { name, priority: 100 });
      await advance(LEASE_MS);
      const next = one(await claim(name, 1, { lease: OTHER_WORKER }));
      expect(next.id).toBe(urgent!.id);
      expect((await store.renew([lost], WORKER)).lost).toEqual([lost.id]);
      expect(await end(lost)).toEqual(['fenced']);
      expect(ids(await claim(name, 1))).toEqual([]);
      await end(next);
      expect(one(await claim(name, 1))).toMatchObject({ id: lost.id, takeovers: 1 });
    });

    test('leaves an expired lease with its holder as long as no saga needs its slot', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const saga = one(await due(1, { name }).then(() => claim(name, 1)));
      await advance(LEASE_MS);
      expect((await store.renew([saga], WORKER)).lost).toEqual([]);
      await due(1, { name, priority: 100 });
      expect(ids(await claim(name, 1))).toEqual([]);
      expect(await end(saga)).toEqual(['saved']);
    });

    test('is set by the claiming worker, which may run another release', async () => {
      const name = uniqueName();
      await due(9, { name });
      const { sagas } = await claim(name, 3);
      expect(sagas).toHaveLength(3);
      await end(sagas[0]!);
      await end(sagas[1]!);
      expect(ids(await claim(name, 1))).toEqual([]);
      await end(sagas[2]!);
      expect(ids(await claim(name, 1))).toHaveLength(1);
      expect(ids(await claim(name, 3))).toHaveLength(2);
    });

    test('is kept when many claim at once, and none is left behind', async () => {
      const name = uniqueName();
      await due(40, { name });
      const active = new Set<string>();
      let [most, done] = [0, 0];
      const work = async () => {
        while (done < 40) {
          const { sagas } = await claim(name, 4, { limit: 3 });
          for (const { id } of sagas) active.add(id);
          most = Math.max(most, active.size);
          for (const saga of sagas) {
            active.delete(saga.id);
            expect(await end(saga)).toEqual(['saved']);
            done += 1;
          }
        }
      };
      await Promise.all(Array.from({ length: 6 }, work));
      expect({ most: most <= 4, done }).toEqual({ most: true, done: 40 });
    });

    test('is not used by sagas that wait for their semantic lock', async () => {
      const name = uniqueName();
      for (const lockKey of ['a', 'a', 'a', 'b', 'c']) await due(1, { name, lockKey });
      const { sagas } = await claim(name, 2);
      expect(sagas.map(({ lock }) => lock)).toEqual(['a', 'b'].map((key) => ({ key, held: true })));
      expect(ids(await claim(name, 2))).toEqual([]);
      await subject().store.checkpoint([{ ...lastCheckpointOf(sagas[0]!), lock: { name, key: 'a' } }]);
      expect((await claim(name, 2)).sagas).toHaveLength(1);
    });

    test('is claimed together with sagas without a limit, the most urgent first', async () => {
      const { store } = subject();
      const [plain, limited] = [uniqueName(), uniqueName()];
      for (const priority of [90, 50, 10]) await due(1, { name: plain, priority });
      for (const priority of [80, 70, 60]) await due(1, { name: limited, priority });
      const sagas = [
        { name: limited, version: 1, maxLeases: 2 },
        { name: plain, version: 1 },
      ];
      const take = async (limit: number) =>
        (await store.claim({ lease: WORKER, sagas, limit })).sagas.map((saga) => saga.priority).sort();
      expect(await take(2)).toEqual([80, 90]);
      expect(await take(2)).toEqual([50, 70]);
      // A saga that waits for a slot takes no room from the others.
      expect(await take(2)).toEqual([10]);
    });

    test('admits sagas that were started or released while it was exhausted, once a slot is free', async () => {
      const { store } = subject();
      const name = uniqueName();
      const first = one(await due(1, { name }).then(() => claim(name, 1)));
      const [second] = await due(1, { name });
      expect(ids(await claim(name, 1))).toEqual([]);
      await store.checkpoint([
        checkpointOf(first, stateOf('running'), { release: { dueAt: first.createdAt - 60_000 } }),
      ]);
      const again = one(await claim(name, 1));
      expect(again.id).toBe(first.id);
      await end(again);
      expect(ids(await claim(name, 1))).toEqual([second!.id]);
    });

    test('reports the number of used slots for a saga that waits for one', async () => {
      const { store } = subject();
      const name = uniqueName();
      await due(3, { name });
      const { sagas } = await claim(name, 2);
      const waiting = (await store.find({ name, limit: 10 })).find(
        ({ id }) => !ids({ sagas, now: 0 }).includes(id),
      );
      expect(await loaded(store, waiting!.id)).toMatchObject({ slotsTaken: 2 });
      expect((await loaded(store, sagas[0]!.id)).slotsTaken).toBeUndefined();
      for (const saga of sagas) await end(saga);
      expect((await loaded(store, waiting!.id)).slotsTaken).toBeUndefined();
    });
  });

  describeOf('the time of the next due saga')('the next due time of sagas with a limit', () => {
    test('is the end of a lease while it is used up: nothing can be done before', async () => {
      const name = uniqueName();
      await due(3, { name });
      const first = await claim(name, 2);
      expect(Math.abs(first.nextDueAt! - first.now - LEASE_MS)).toBeLessThan(TOLERANCE_MS);
      const again = await claim(name, 2);
      expect(again.nextDueAt).toBeCloseTo(first.sagas[0]!.dueAt!, 0);
    });

    test('is in the past while only the room is', async () => {
      const name = uniqueName();
      await due(3, { name });
      for (const limit of [0, 1]) {
        const { sagas, nextDueAt, now } = await claim(name, 2, { limit });
        expect(sagas).toHaveLength(limit);
        expect(nextDueAt).toBeLessThanOrEqual(now);
      }
    });

    test('is that of a saga that is to start later, or none', async () => {
      const name = uniqueName();
      await due(1, { name });
      const taken = await claim(name, 1);
      expect(taken.nextDueAt).toBeUndefined();
      await due(1, { name, delay: 10_000 });
      const { nextDueAt, now } = await claim(name, 1);
      expect(Math.abs(nextDueAt! - now - 10_000)).toBeLessThan(TOLERANCE_MS);
    });
  });

  describeOf('announcements of free slots')('a slot that became free', () => {
    /** A saga of version 1 holds the only slot, and one of version 2 was rejected. */
    const crowded = async () => {
      const name = uniqueName();
      await due(1, { name });
      const holder = one(await claim(name, 1));
      const [turnedAway] = await due(1, { name, version: 2 });
      expect(ids(await claim(name, 1, { version: 2, lease: OTHER_WORKER }))).toEqual([]);
      return { name, holder, turnedAway: turnedAway! };
    };

    test('is announced once by a worker that cannot use it, if a saga was rejected', async () => {
      const { messages } = subject();
      const { name, holder, turnedAway } = await crowded();
      await end(holder);
      const received = messages.length;
      expect(ids(await claim(name, 1))).toEqual([]);
      expect(await announcedSince(received)).toHaveLength(1);
      expect(ids(await claim(name, 1))).toEqual([]);
      expect(await announcedSince(received)).toHaveLength(1);
      expect(ids(await claim(name, 1, { version: 2, lease: OTHER_WORKER }))).toEqual([turnedAway.id]);
    });

    test('is not announced by a worker that takes it', async () => {
      const { messages } = subject();
      const { name, holder } = await crowded();
      await due(1, { name });
      await end(holder);
      const received = messages.length;
      expect(ids(await claim(name, 1))).toHaveLength(1);
      expect(await announcedSince(received)).toEqual([]);
    });

    test('is announced if the saga that took it waits for its semantic lock, and others fill the claim', async () => {
      const { store, messages } = subject();
      const [name, plain] = [uniqueName(), uniqueName()];
      await due(1, { name, lockKey: 'k' });
      const holder = one(await claim(name, 1));
      const [turnedAway] = await due(1, { name, version: 2 });
      expect(ids(await claim(name, 1, { version: 2, lease: OTHER_WORKER }))).toEqual([]);
      await store.checkpoint([
        checkpointOf(holder, stateOf('running'), { release: { dueAt: 4e12 }, lock: { name, key: 'k' } }),
      ]);
      await due(1, { name, lockKey: 'k', priority: 100 });
      const [other] = await due(1, { name: plain });
      const received = messages.length;
      const sagas = [
        { name, version: 1, maxLeases: 1 },
        { name: plain, version: 1 },
      ];
      expect(ids(await store.claim({ lease: WORKER, sagas, limit: 1 }))).toEqual([other!.id]);
      expect(await announcedSince(received)).toHaveLength(1);
      expect(ids(await claim(name, 1, { version: 2, lease: OTHER_WORKER }))).toEqual([turnedAway!.id]);
    });

    test('is not announced if no saga was rejected or no slot became free', async () => {
      const { messages } = subject();
      const name = uniqueName();
      await due(1, { name });
      const received = messages.length;
      await end(one(await claim(name, 2)));
      await claim(name, 2);
      const other = await crowded();
      // Another release: its count has room, but no slot became free.
      await claim(other.name, 5);
      await claim(other.name, 5);
      expect(await announcedSince(received)).toEqual([]);
    });
  });
}
