import { lostLeasesOf } from '../../libs/saga/src/engine/ports/live-state.js';
import { describeOf } from './features.js';
import { PRIORITY_POINT_MS, type SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { LostLease } from '../../libs/saga/src/machine/saga-state.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  held,
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

export function describeClaims(subject: () => StoreSubject): void {
  describe('a claim', () => {
    test('takes the lease of a due saga, and raises its epoch', async () => {
      const { store } = subject();
      const saga = await started(store);
      const { sagas, now } = await claimed(store, saga.name, 1, OTHER_WORKER);
      expect(sagas).toEqual([await loaded(store, saga.id)]);
      expect(sagas[0]).toMatchObject({ lockedBy: OTHER_WORKER.worker, epoch: 1, takeovers: 0 });
      expect(Math.abs((sagas[0]?.dueAt ?? 0) - now - LEASE_MS)).toBeLessThanOrEqual(1);
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });

    test('gives all that was ever recorded', async () => {
      const { store } = subject();
      const saga = await held(store, { input: '{"b":1,"a":2}', correlationId: 'order-1', tags: { a: 'b' } });
      const failure = { kind: 'rejected' as const, error: { name: 'Declined', message: 'declined' } };
      const steps = { a: stepOf({ result: 'null' }), b: stepOf({ status: 'failed', failures: 1 }) };
      const state = stateOf('compensating', steps, { failure });
      await store.checkpoint([checkpointOf(saga, state, { release: { dueAt: saga.createdAt } })]);
      const recorded = await loaded(store, saga.id);
      const [again] = (await claimed(store, saga.name)).sagas;
      expect(again).toEqual({
        ...recorded,
        ...{ lockedBy: WORKER.worker, epoch: 2, dueAt: again?.dueAt, leasedAt: again?.leasedAt },
        updatedAt: again?.updatedAt,
      });
      expect(again?.state).toEqual(state);
    });

    test('takes only sagas of the names and versions that the worker can run', async () => {
      const { store } = subject();
      const [name, another] = [uniqueName(), uniqueName()];
      const v1 = await started(store, { name });
      const v3 = await started(store, { name, version: 3 });
      const v2 = await started(store, { name, version: 2 });
      const other = await started(store, { name: another, version: 2 });
      const take = async (...sagas: { name: string; version: number }[]) =>
        (await store.claim({ lease: WORKER, sagas, limit: 10 })).sagas.map(({ id }) => id).sort();
      expect(await take()).toEqual([]);
      expect(await take({ name, version: 1 }, { name: another, version: 1 })).toEqual([v1.id]);
      expect(await take({ name, version: 2 }, { name: another, version: 2 })).toEqual(
        [v2.id, other.id].sort(),
      );
      expect(await take({ name, version: 3 })).toEqual([v3.id]);
    });

    test('takes no more than its limit, and the rest next time', async () => {
      const { store } = subject();
      const name = uniqueName();
      await store.start(
        Array.from({ length: 5 }, () => newSaga({ name })),
        WORKER,
      );
      const counts = [2, 0, 2, 2, 2].map(
        (limit) => async () => (await claimedIds(store, name, limit)).length,
      );
      const taken: number[] = [];
      for (const count of counts) taken.push(await count());
      expect(taken).toEqual([2, 0, 2, 1, 0]);
    });

    test.each(['paused', 'suspended', 'stuck', 'completed', 'aborted'] as const)(
      'never takes a %s saga, even if it was said to be due',
      async (status) => {
        const { store } = subject();
        const saga = await started(store);
        await store.edit({ id: saga.id }, () => ({ state: stateOf(status), due: true, step: '' }));
        expect(await claimed(store, saga.name)).toMatchObject({ sagas: [], nextDueAt: undefined });
      },
    );

    test('takes a saga that rolls back', async () => {
      const { store } = subject();
      const saga = await started(store);
      await store.edit({ id: saga.id }, () => ({ state: stateOf('compensating'), due: true, step: '' }));
      expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
    });

    test('by many at once never takes a saga twice, and between them they take all', async () => {
      const { store } = subject();
      const name = uniqueName();
      const sagas = Array.from({ length: 60 }, () => newSaga({ name }));
      await store.start(sagas, WORKER);
      const taken: string[] = [];
      const claimAll = async () => {
        for (let ids = ['']; ids.length > 0 && taken.length <= sagas.length; taken.push(...ids))
          ids = await claimedIds(store, name, 7);
      };
      await Promise.all(Array.from({ length: 6 }, claimAll));
      // Rows that were being claimed were skipped. A claim that saw only those stopped early.
      await claimAll();
      expect(taken.sort()).toEqual(sagas.map(({ id }) => id).sort());
    });
  });

  describe('what is most urgent', () => {
    /** Claims one at a time, so that the order is the store's own. */
    const inOrder = async (store: SagaStore, name: string) => {
      const ids: string[] = [];
      for (let next = ['']; next.length > 0 && ids.length < 10; ids.push(...next))
        next = await claimedIds(store, name, 1);
      return ids;
    };

    test('is claimed first: what was due first', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const late = await started(store, { name, delay: 20_000 });
      const soon = await started(store, { name, delay: 10_000 });
      await advance(30_000);
      const now = await started(store, { name });
      expect(await inOrder(store, name)).toEqual([soon.id, late.id, now.id]);
    });

    test('is claimed first: what has the higher priority', async () => {
      const { store } = subject();
      const name = uniqueName();
      const ids = new Map<number, string>();
      for (const priority of [0, 100, 1, 50])
        ids.set(priority, (await started(store, { name, priority })).id);
      expect(await inOrder(store, name)).toEqual([100, 50, 1, 0].map((priority) => ids.get(priority)));
    });

    test('is claimed first, and in that order, within one claim', async () => {
      const { store } = subject();
      const name = uniqueName();
      const ids = new Map<number, string>();
      for (const priority of [20, 80, 40, 60])
        ids.set(priority, (await started(store, { name, priority })).id);
      expect(await claimedIds(store, name, 3)).toEqual([80, 60, 40].map((priority) => ids.get(priority)));
    });

    test('is what waited long enough: a point of priority is worth so much waiting, and no more', async () => {
      const { store, advance } = subject();
      const name = uniqueName();
      const starved = await started(store, { name });
      await advance(PRIORITY_POINT_MS + 5_000);
      const waiting = await started(store, { name });
      await advance(PRIORITY_POINT_MS - 5_000);
      const favoured = await started(store, { name, priority: 1 });
      expect(await inOrder(store, name)).toEqual([starved.id, favoured.id, waiting.id]);
    });
  });

  describeOf('the time of the next due saga')('the time of the next due saga', () => {
    test('is returned for the requested names', async () => {
      const { store } = subject();
      const name = uniqueName();
      await started(store, { name, delay: 90_000 });
      await started(store, { name, delay: 60_000 });
      await started(store, { name: uniqueName(), delay: 10_000 });
      await started(store, { name, version: 2, delay: 10_000 });
      const { now, nextDueAt = 0 } = await claimed(store, name);
      expect(Math.abs(nextDueAt - now - 60_000)).toBeLessThan(TOLERANCE_MS);
    });

    test('is the end of a lease, too: its holder may be lost', async () => {
      const { store } = subject();
      const saga = await held(store);
      expect((await claimed(store, saga.name)).nextDueAt).toBe(saga.dueAt);
    });

    test('is in the past when more are due than were taken', async () => {
      const { store } = subject();
      const name = uniqueName();
      const dueAt = [await started(store, { name }), await started(store, { name })].map(
        (saga) => saga.dueAt,
      );
      expect((await claimed(store, name, 0)).nextDueAt).toBe(dueAt[0]);
      expect((await claimed(store, name, 1)).nextDueAt).toBe(dueAt[1]);
    });

    test('is not returned if every remaining saga was taken', async () => {
      const { store } = subject();
      const { id, name } = await started(store);
      expect((await claimed(store, uniqueName())).nextDueAt).toBeUndefined();
      expect(await claimed(store, name)).toMatchObject({ sagas: [{ id }], nextDueAt: undefined });
    });
  });

  describe('a saga whose worker was lost', () => {
    test('is taken over when the lease ends, and each time is counted', async () => {
      const { store, advance } = subject();
      const { name } = await held(store);
      const seen: (number | undefined)[] = [];
      for (let round = 0; round < 3; round += 1) {
        await advance(LEASE_MS);
        const [saga] = (await claimed(store, name, 1, OTHER_WORKER)).sagas;
        seen.push(saga?.takeovers, saga?.epoch);
      }
      expect(seen).toEqual([1, 2, 2, 3, 3, 4]);
    });

    test('names the worker that was lost, since when it held the lease, and when that ran out', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      await advance(LEASE_MS);
      const [first] = (await claimed(store, saga.name, 1, OTHER_WORKER)).sagas;
      expect(first!.lostLeases).toMatchObject([{ worker: WORKER.worker, takenOver: first!.leasedAt }]);
      const [{ from, until, takenOver }] = first!.lostLeases! as [LostLease];
      expect(until - from).toBeCloseTo(LEASE_MS, 0);
      expect(takenOver).toBeGreaterThanOrEqual(until);
      await advance(LEASE_MS);
      const [second] = (await claimed(store, saga.name)).sagas;
      const workers = second!.lostLeases!.map(({ worker }) => worker);
      expect(workers).toEqual([WORKER.worker, OTHER_WORKER.worker]);
      expect((await loaded(store, saga.id)).lostLeases).toEqual(second!.lostLeases);
      await store.checkpoint([checkpointOf(second!, stateOf('running', { a: stepOf() }))]);
      expect((await loaded(store, saga.id)).lostLeases).toBeUndefined();
      await advance(LEASE_MS);
      const [third] = (await claimed(store, saga.name)).sagas;
      expect(third!.lostLeases).toHaveLength(1);
    });

    test('tells until when it may have begun what was due, if the clock was set back since', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      const { createdAt } = saga;
      const renewed = async (seen: number) => {
        await store.renew([{ id: saga.id, epoch: saga.epoch, seen: createdAt + seen }], WORKER);
        return ((await loaded(store, saga.id)).leasedAt ?? createdAt) - createdAt;
      };
      // As it is known to within a second.
      expect(await renewed(0)).toBe(0);
      expect(await renewed(50 * LEASE_MS)).toBeCloseTo(50 * LEASE_MS, 0);
      // It was set back twice.
      expect(await renewed(40 * LEASE_MS)).toBeCloseTo(50 * LEASE_MS, 0);
      await advance(LEASE_MS);
      const [taken] = (await claimed(store, saga.name, 1, OTHER_WORKER)).sagas;
      const [{ from, until }] = taken!.lostLeases! as [LostLease];
      expect(from - until).toBeGreaterThan(40 * LEASE_MS);
      expect(lostLeasesOf(taken!)).toEqual([{ ...taken!.lostLeases![0], until: from }]);
    });

    test('counts from nought again once something was recorded', async () => {
      const { store, advance } = subject();
      const { name } = await held(store);
      await advance(LEASE_MS);
      const [saga] = (await claimed(store, name)).sagas;
      if (!saga) throw new Error('Not taken over');
      expect(await store.checkpoint([checkpointOf(saga, stateOf('running'))])).toEqual(['saved']);
      expect((await loaded(store, saga.id)).takeovers).toBe(0);
      await advance(LEASE_MS);
      expect((await claimed(store, name)).sagas).toMatchObject([{ takeovers: 1, losses: 1 }]);
    });

    test('counts on past what is only recorded to wait, so that it does not take workers down for ever', async () => {
      const { store, advance } = subject();
      const { name } = await held(store);
      for (let losses = 1; losses < 4; losses += 1) {
        await advance(LEASE_MS);
        const [saga] = (await claimed(store, name)).sagas;
        expect(saga).toMatchObject({ takeovers: 1, losses });
        const waiting = { release: { dueAt: saga!.createdAt }, advances: false };
        await store.checkpoint([checkpointOf(saga!, stateOf('running'), waiting)]);
        expect((await claimed(store, name)).sagas).toMatchObject([{ takeovers: 0, losses }]);
      }
    });

    test('is not reported for a saga that was released', async () => {
      const { store } = subject();
      const saga = await held(store);
      const release = { dueAt: saga.createdAt };
      await store.checkpoint([checkpointOf(saga, stateOf('running'), { release })]);
      expect((await claimed(store, saga.name)).sagas).toMatchObject([{ takeovers: 0, epoch: 2 }]);
    });
  });

  describe('a released lease', () => {
    test('has no holder, and its saga is due after the given time', async () => {
      const { store, advance } = subject();
      const { name } = await started(store, { priority: 3 });
      const [saga] = (await claimed(store, name)).sagas;
      await store.giveBack([saga!], WORKER, 60_000);
      const given = await loaded(store, saga!.id);
      expect(given).toMatchObject({ epoch: 1, takeovers: 0, checkpoints: 0 });
      expect(given.lockedBy).toBeUndefined();
      expect(Math.abs(given.dueAt! - (await claimed(store, name)).now - 60_000)).toBeLessThan(TOLERANCE_MS);
      expect(await claimedIds(store, name)).toEqual([]);
      await advance(60_000);
      expect((await claimed(store, name, 1, OTHER_WORKER)).sagas).toMatchObject([
        { takeovers: 0, losses: 0 },
      ]);
    });

    test('leaves what a takeover counted', async () => {
      const { store, advance } = subject();
      const { name } = await held(store);
      await advance(LEASE_MS);
      const [saga] = (await claimed(store, name)).sagas;
      await store.giveBack([saga!], WORKER, 0);
      expect((await claimed(store, name)).sagas).toMatchObject([{ takeovers: 1, losses: 1 }]);
    });

    test('may be an object that knows its saga', async () => {
      const { store } = subject();
      const saga = await held(store);
      class Run {
        readonly saga = saga;
        get id(): string {
          return this.saga.id;
        }
        get epoch(): number {
          return this.saga.epoch;
        }
      }
      await store.giveBack([new Run()], WORKER, 0);
      expect((await loaded(store, saga.id)).lockedBy).toBeUndefined();
    });

    test('has to be the one that was taken: of others nothing changes', async () => {
      const { store } = subject();
      const saga = await held(store);
      await store.giveBack([saga], OTHER_WORKER, 0);
      await store.giveBack([{ ...saga, epoch: saga.epoch + 1 }], WORKER, 0);
      expect(await loaded(store, saga.id)).toEqual(saga);
    });
  });

  describe('a lease', () => {
    test('that is renewed lasts from then on', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      await advance(LEASE_MS - 5_000);
      const { lost, cancelled, now } = await store.renew([saga], WORKER);
      const renewed = await loaded(store, saga.id);
      expect({ lost, cancelled }).toEqual({ lost: [], cancelled: [] });
      expect(renewed).toMatchObject({ lockedBy: WORKER.worker, epoch: 1, takeovers: 0 });
      expect(Math.abs((renewed.dueAt ?? 0) - now - LEASE_MS)).toBeLessThanOrEqual(1);
      await advance(LEASE_MS - 5_000);
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });

    test('that ended is renewed as long as no worker took the saga', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      await advance(LEASE_MS * 3);
      expect((await store.renew([saga], WORKER)).lost).toEqual([]);
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });

    test('is renewed by its holder only, and with its epoch only', async () => {
      const { store } = subject();
      const [mine, stale, released] = [await held(store), await held(store), await held(store)];
      await store.checkpoint([checkpointOf(released, stateOf('running'), { release: { dueAt: 0 } })]);
      const leases = [mine, { id: stale.id, epoch: stale.epoch - 1 }, released];
      expect((await store.renew(leases, WORKER)).lost.toSorted()).toEqual([stale.id, released.id].sort());
      expect((await store.renew([mine], OTHER_WORKER)).lost).toEqual([mine.id]);
      expect(await loaded(store, mine.id)).toMatchObject({ lockedBy: WORKER.worker });
      expect(await claimedIds(store, released.name)).toEqual([released.id]);
    });

    test('may be renewed for an empty list', async () => {
      expect(await subject().store.renew([], WORKER)).toEqual({
        ...{ lost: [], cancelled: [], paused: [] },
        now: expect.any(Number),
      });
    });
  });
}
