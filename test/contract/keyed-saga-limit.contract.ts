import type { Claim, ClaimRequest } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Lease, NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { describeOf, testOf } from './features.js';
import {
  checkpointOf,
  dueSince,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  stateOf,
  type StoreSubject,
  TOLERANCE_MS,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeKeyedSagaLimit(subject: () => StoreSubject): void {
  const due = async (
    name: string,
    key: string | undefined,
    count = 1,
    given: Partial<NewSaga> = {},
  ): Promise<NewSaga[]> => {
    const sagas = Array.from({ length: count }, () => newSaga({ name, limitKey: key, ...given }));
    await subject().store.start(sagas, WORKER);
    return sagas;
  };
  const claim = (
    name: string,
    maxLeases: number,
    { limit = 100, lease = WORKER, ...rest }: Partial<ClaimRequest> & { lease?: Lease } = {},
  ): Promise<Claim> =>
    subject().store.claim({
      ...{ lease, limit, sagas: [{ name, version: 1, maxLeases, keyed: true }] },
      ...rest,
    });
  const ids = ({ sagas }: Claim) => sagas.map(({ id }) => id);
  const end = (saga: StoredSaga) => subject().store.checkpoint([lastCheckpointOf(saga)]);
  /** The keys of what was claimed, with how many there are of each. */
  const byKey = async ({ sagas }: Claim): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const { id } of sagas) {
      const key = (await loaded(subject().store, id)).limitKey ?? '';
      counts[key] = (counts[key] ?? 0) + 1;
    }
    return counts;
  };

  describe('a limit for each key', () => {
    test('lets so many of each key be leased at once, the most urgent of each first', async () => {
      const name = uniqueName();
      await due(name, 'a', 5);
      const [urgent] = await due(name, 'a', 1, { priority: 50 });
      await due(name, 'b', 1);
      const first = await claim(name, 2);
      expect(await byKey(first)).toEqual({ a: 2, b: 1 });
      expect(ids(first)).toContain(urgent!.id);
      expect(ids(await claim(name, 2, { lease: OTHER_WORKER }))).toEqual([]);
      await end(first.sagas.find(({ id }) => id === urgent!.id)!);
      expect(await byKey(await claim(name, 2, { lease: OTHER_WORKER }))).toEqual({ a: 1 });
    });

    test('is of one key in all versions', async () => {
      const name = uniqueName();
      await due(name, 'a', 2, { version: 1 });
      await due(name, 'a', 2, { version: 2 });
      await due(name, 'b', 2, { version: 2 });
      const sagas = [1, 2].map((version) => ({ name, version, maxLeases: 1, keyed: true }));
      expect(await byKey(await claim(name, 1, { sagas }))).toEqual({ a: 1, b: 1 });
      expect(ids(await claim(name, 1, { sagas }))).toEqual([]);
    });

    testOf('turns of keys')('gives each key its turn when there is room for one saga only', async () => {
      const name = uniqueName();
      await due(name, 'a', 6);
      for (const key of ['b', 'c']) await due(name, key, 2);
      const order: string[] = [];
      for (let n = 0; n < 10; n += 1) {
        const claimed = await claim(name, 5, { limit: 1 });
        order.push(...Object.keys(await byKey(claimed)));
        await end(claimed.sagas[0]!);
      }
      expect(order.slice(0, 6)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
      expect(order.slice(6)).toEqual(['a', 'a', 'a', 'a']);
    });

    testOf('turns of keys')('takes of those with the fewest running first', async () => {
      const name = uniqueName();
      await due(name, 'a', 10);
      expect(await byKey(await claim(name, 5, { limit: 4 }))).toEqual({ a: 4 });
      await due(name, 'b', 10);
      expect(await byKey(await claim(name, 5, { limit: 4 }))).toEqual({ b: 4 });
      expect(await byKey(await claim(name, 5, { limit: 4 }))).toEqual({ a: 1, b: 1 });
    });

    testOf('turns of keys')(
      'leaves the first saga of a key no claim behind those of a key with thousands',
      async () => {
        const name = uniqueName();
        const sagas = Array.from({ length: 20_000 }, () => newSaga({ name, limitKey: 'large' }));
        for (let n = 0; n < sagas.length; n += 5_000)
          await subject().store.start(sagas.slice(n, n + 5_000), WORKER);
        const taken = await claim(name, 3);
        expect(await byKey(taken)).toEqual({ large: 3 });
        const [first] = await due(name, 'small', 1);
        expect(ids(await claim(name, 3))).toEqual([first!.id]);
        // With slots of both, and room for two.
        await end(taken.sagas[0]!);
        await due(name, 'small', 1);
        expect(await byKey(await claim(name, 3, { limit: 2 }))).toEqual({ large: 1, small: 1 });
      },
    );

    test('bounds those together that were started before it had a key', async () => {
      const name = uniqueName();
      await due(name, undefined, 3);
      await due(name, 'a', 3);
      const first = await claim(name, 2);
      expect(await byKey(first)).toEqual({ '': 2, a: 2 });
      for (const saga of first.sagas) await end(saga);
      expect(await byKey(await claim(name, 2))).toEqual({ '': 1, a: 1 });
    });

    test('is no more once the definition has none: the sagas with a key are claimed like others', async () => {
      const name = uniqueName();
      await due(name, 'a', 3);
      const plain = [{ name, version: 1 }];
      expect(ids(await claim(name, 1, { sagas: plain }))).toHaveLength(3);
      await due(name, 'a', 3);
      expect(ids(await claim(name, 1, { sagas: [{ name, version: 1, maxLeases: 2 }] }))).toHaveLength(2);
    });

    test('frees the slot of a lost lease, and fences its holder off', async () => {
      const { advance, store } = subject();
      const name = uniqueName();
      await due(name, 'a', 1);
      const lost = (await claim(name, 1)).sagas[0]!;
      await advance(LEASE_MS);
      await due(name, 'a', 1, { priority: 100 });
      expect(ids(await claim(name, 1, { lease: OTHER_WORKER }))).toHaveLength(1);
      expect((await store.renew([lost], WORKER)).lost).toEqual([lost.id]);
    });

    test('is kept when many claim at once, and none is left behind', async () => {
      const name = uniqueName();
      const keys = ['a', 'b', 'c'];
      const keyOf = new Map<string, string>();
      for (const key of keys) for (const { id } of await due(name, key, 15)) keyOf.set(id, key);
      const active = new Map(keys.map((key) => [key, new Set<string>()]));
      let [most, done] = [0, 0];
      const work = async () => {
        while (done < 45) {
          const { sagas } = await claim(name, 2, { limit: 3 });
          for (const { id } of sagas) active.get(keyOf.get(id)!)!.add(id);
          most = Math.max(most, ...[...active.values()].map(({ size }) => size));
          for (const saga of sagas) {
            active.get(keyOf.get(saga.id)!)!.delete(saga.id);
            expect(await end(saga)).toEqual(['saved']);
            done += 1;
          }
        }
      };
      await Promise.all(Array.from({ length: 5 }, work));
      expect({ most: most <= 2, done }).toEqual({ most: true, done: 45 });
    });

    test('shares the room with sagas of other names, the most urgent first', async () => {
      const [name, plain] = [uniqueName(), uniqueName()];
      for (const key of ['a', 'b']) await due(name, key, 5, { priority: 50 });
      await due(plain, undefined, 2, { priority: 90 });
      await due(plain, undefined, 2);
      const sagas = [
        { name, version: 1, maxLeases: 2, keyed: true },
        { name: plain, version: 1 },
      ];
      const names = async () =>
        (await claim(name, 2, { sagas, limit: 4 })).sagas.map((saga) => saga.priority).sort();
      expect(await names()).toEqual([50, 50, 90, 90]);
      expect(await names()).toEqual([0, 0, 50, 50]);
    });

    test('reports the used slots of the key for a saga that waits for one', async () => {
      const { store } = subject();
      const name = uniqueName();
      const [, waiting] = await due(name, 'a', 2);
      await due(name, 'b', 1);
      const { sagas } = await claim(name, 1);
      const left = [waiting!.id, ...(await store.find({ name, limit: 9 })).map(({ id }) => id)].find(
        (id) => !sagas.some((saga) => saga.id === id),
      )!;
      expect(await loaded(store, left)).toMatchObject({ slotsTaken: 1, limitKey: 'a' });
    });
  });

  describeOf('the time of the next due saga')('the next due time of sagas with a limit for each key', () => {
    test('is the end of a lease while all keys are used up', async () => {
      const name = uniqueName();
      await due(name, 'a', 3);
      const { nextDueAt, now } = await claim(name, 1);
      expect(Math.abs(nextDueAt! - now - LEASE_MS)).toBeLessThan(TOLERANCE_MS);
    });

    test('is in the past while only the room is', async () => {
      const name = uniqueName();
      for (const key of ['a', 'b']) await due(name, key, 1);
      const { sagas, nextDueAt, now } = await claim(name, 1, { limit: 1 });
      expect(sagas).toHaveLength(1);
      expect(nextDueAt).toBeLessThanOrEqual(now);
    });

    test('is that of a saga of another key that is to start later', async () => {
      const name = uniqueName();
      await due(name, 'a', 3);
      await due(name, 'b', 1, { delay: 10_000 });
      await claim(name, 1);
      const { nextDueAt, now } = await claim(name, 1);
      expect(nextDueAt! - now).toBeLessThan(11_000);
      expect(nextDueAt! - now).toBeGreaterThan(1_000);
    });

    test('is none if nothing waits', async () => {
      const name = uniqueName();
      await due(name, 'a', 1);
      expect((await claim(name, 1)).nextDueAt).toBeUndefined();
    });
  });

  describeOf('announcements of free slots')('a slot of a key that became free', () => {
    const announcedSince = (received: number) => dueSince(subject(), received);

    test('is announced once by a worker that cannot use it, if a saga was rejected', async () => {
      const { messages, store } = subject();
      const name = uniqueName();
      await due(name, 'a', 1);
      const holder = (await claim(name, 1)).sagas[0]!;
      await due(name, 'a', 1, { version: 2 });
      const second = [{ name, version: 2, maxLeases: 1, keyed: true }];
      expect(ids(await claim(name, 1, { sagas: second, lease: OTHER_WORKER }))).toEqual([]);
      await store.checkpoint([checkpointOf(holder, stateOf('running'), { release: { dueAt: 4e12 } })]);
      const received = messages.length;
      await due(name, 'b', 1);
      expect(await byKey(await claim(name, 1))).toEqual({ b: 1 });
      expect(await announcedSince(received)).toHaveLength(1);
      await claim(name, 1);
      expect(await announcedSince(received)).toHaveLength(1);
      expect(ids(await claim(name, 1, { sagas: second, lease: OTHER_WORKER }))).toHaveLength(1);
    });
  });
}
