import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { testOf } from './features.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  eventually,
  held,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  stateOf,
  storeNow,
  type StoreSubject,
  stepOf,
  TOLERANCE_MS,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeLocks(subject: () => StoreSubject): void {
  /** Sagas of one name and key, in the order in which they are stored. */
  const queue = async (count: number, given: Partial<NewSaga> = {}): Promise<NewSaga[]> => {
    const name = uniqueName();
    const sagas = Array.from({ length: count }, () => newSaga({ name, lockKey: 'k', ...given }));
    for (const saga of sagas) await subject().store.start([saga], WORKER);
    return sagas;
  };
  const ids = (sagas: readonly NewSaga[]) => sagas.map(({ id }) => id);
  const active = async (store: SagaStore, name: string): Promise<StoredSaga> => {
    const { sagas } = await claimed(store, name);
    expect(sagas).toHaveLength(1);
    return sagas[0]!;
  };
  const end = (saga: StoredSaga, status: 'completed' | 'compensated' | 'stuck' = 'completed') =>
    subject().store.checkpoint([
      checkpointOf(saga, stateOf(status, { reserve: stepOf() }), {
        release: {},
        lock: saga.lock && { name: saga.name, key: saga.lock.key },
      }),
    ]);

  describe('a semantic lock', () => {
    test('lets one saga of a key be active at a time, in the order in which they were stored', async () => {
      const { store } = subject();
      const sagas = await queue(4);
      const order: string[] = [];
      for (const _ of sagas) {
        const saga = await active(store, sagas[0]!.name);
        expect(saga.lock).toEqual({ key: 'k', held: true });
        order.push(saga.id);
        expect(await end(saga)).toEqual(['saved']);
      }
      expect(order).toEqual(ids(sagas));
      expect(await claimedIds(store, sagas[0]!.name)).toEqual([]);
    });

    test('is waited for by a saga that is compensated before it had it, if a step of it was done elsewhere', async () => {
      const { store } = subject();
      const [first, done, undone] = await queue(3);
      const { name } = first!;
      const holder = await active(store, name);
      const steps = { reserve: stepOf({ status: 'completed' as const }) };
      for (const [saga, given] of [
        [done!, steps],
        [undone!, {}],
      ] as const)
        await store.edit({ id: saga.id }, () => ({
          ...{ state: stateOf('compensating', given), due: true, step: 'reserve' },
        }));
      // That has nothing to undo, and so no need of the lock.
      const leaving = await active(store, name);
      expect([leaving.id, leaving.lock]).toEqual([undone!.id, undefined]);
      await end(leaving, 'compensated');
      expect(await claimedIds(store, name)).toEqual([]);
      await end(holder);
      const compensating = await active(store, name);
      expect(compensating).toMatchObject({
        id: done!.id,
        lock: { held: true },
        state: { status: 'compensating' },
      });
      await end(compensating, 'compensated');
      expect(await claimedIds(store, name)).toEqual([]);
    });

    test('goes to the saga that came first, even if a later one is more urgent', async () => {
      const { store } = subject();
      const [first] = await queue(1);
      const later = newSaga({ name: first!.name, lockKey: 'k', priority: 100 });
      await store.start([later], WORKER);
      expect(await claimedIds(store, first!.name, 1)).toEqual([first!.id]);
    });

    test.each([
      ['paused', stateOf('paused', {}, { heldPhase: 'running' }), () => false],
      ['postponed', stateOf('running'), (now: number) => now + 3_600_000],
    ])('is not waited for behind a saga that has not had it yet, and is %s', async (_, state, due) => {
      const { store } = subject();
      const name = uniqueName();
      // No worker that has its version has claimed it.
      const first = newSaga({ name, lockKey: 'k', version: 2 });
      const second = newSaga({ name, lockKey: 'k' });
      await store.start([first], WORKER);
      await store.start([second], WORKER);
      expect(await claimedIds(store, name)).toEqual([]);
      expect((await loaded(store, second.id)).lock).toMatchObject({ held: false, holder: first.id });
      await store.edit({ id: first.id }, (_saga, now) => ({ state, due: due(now), step: 'reserve' }));
      expect(await claimedIds(store, name)).toEqual([second.id]);
    });

    test('is not taken, nor waited for, by a saga that becomes due before its start time', async () => {
      const { store, advance } = subject();
      const [later] = await queue(1, { delay: 60_000 });
      const { name } = later!;
      const { state } = await loaded(store, later!.id);
      await store.edit({ id: later!.id }, () => ({ state, step: 'reserve', due: true }));
      expect(await claimedIds(store, name)).toEqual([]);
      const waiting = await loaded(store, later!.id);
      expect(waiting).toMatchObject({ lock: { held: false }, takeovers: 0 });
      expect(waiting.lockedBy).toBeUndefined();
      expect(waiting.dueAt).toBeCloseTo(state.startsAt!, 1);
      expect(waiting.state.startsAt).toBe(state.startsAt);
      const other = newSaga({ name, lockKey: 'k' });
      await store.start([other], WORKER);
      expect(await end(await active(store, name))).toEqual(['saved']);
      await advance(60_000);
      expect(await claimedIds(store, name)).toEqual([later!.id]);
    });

    test('does not hold a saga a second time that has waited for it, if the clock is set back before its start time', async () => {
      const { store, advance } = subject();
      const [first] = await queue(1);
      const later = newSaga({ name: first!.name, lockKey: 'k', delay: 10_000 });
      await store.start([later], WORKER);
      const holder = await active(store, first!.name);
      await advance(10_000);
      expect((await claimed(store, first!.name)).sagas).toEqual([]);
      await advance(-20_000);
      await end(holder);
      expect((await active(store, first!.name)).state.startsAt).toBeUndefined();
    });

    test('is waited for again by a completed saga that is compensated, at its old position', async () => {
      const { store } = subject();
      const [first, second, third] = await queue(3);
      const { name } = first!;
      expect(await end(await active(store, name))).toEqual(['saved']);
      const now = await active(store, name);
      expect(now.id).toBe(second!.id);
      await store.edit({ id: first!.id }, ({ state }) => ({
        state: { ...state, status: 'compensating', failure: { kind: 'undone' } },
        step: 'reserve',
        due: true,
      }));
      expect(await claimedIds(store, name)).toEqual([]);
      expect((await loaded(store, first!.id)).lock).toEqual({ key: 'k', held: false, holder: second!.id });
      await end(now);
      const undone = await active(store, name);
      expect(undone).toMatchObject({
        id: first!.id,
        state: { status: 'compensating' },
        lock: { held: true },
      });
      await end(undone, 'compensated');
      expect((await active(store, name)).id).toBe(third!.id);
    });

    test('keeps the order within a batch, whatever the correlation ids', async () => {
      const { store } = subject();
      const name = uniqueName();
      const sagas = ['c', 'a', 'b'].map((correlationId) => newSaga({ name, lockKey: 'k', correlationId }));
      await store.start(sagas, WORKER);
      const order: string[] = [];
      for (const _ of sagas) {
        const saga = await active(store, name);
        order.push(saga.id);
        await end(saga);
      }
      expect(order).toEqual(ids(sagas));
    });

    test('concerns sagas of one name and one key only', async () => {
      const { store } = subject();
      const [first] = await queue(1);
      const name = first!.name;
      await store.start([newSaga({ name, lockKey: 'other' }), newSaga({ name })], WORKER);
      const [other] = await queue(1);
      expect(await claimedIds(store, name)).toHaveLength(3);
      expect(await claimedIds(store, other!.name)).toHaveLength(1);
    });

    test('is never had by a start, so that it is always the claim that decides', async () => {
      const { store } = subject();
      const saga = newSaga({ lockKey: 'k', leased: true });
      expect(await store.start([saga], WORKER)).toMatchObject([{ created: true, leased: false }]);
      expect(await loaded(store, saga.id)).toMatchObject({ epoch: 0, lock: { key: 'k', held: false } });
      expect(await claimedIds(store, saga.name)).toEqual([saga.id]);
    });

    testOf('the time of the next due saga')('lets no saga that waits be the next that is due', async () => {
      const { store } = subject();
      const [first] = (await queue(2)) as [NewSaga, NewSaga];
      await claimed(store, first.name);
      const again = await claimed(store, first.name);
      // Only the lease of the first: nothing else is due, ever.
      expect(again.nextDueAt).toBeCloseTo((await loaded(store, first.id)).dueAt!, 0);
    });

    test('leaves waiting sagas without lease and due time, and reports its holder', async () => {
      const { store } = subject();
      const [first, second] = (await queue(2)) as [NewSaga, NewSaga];
      const claim = await claimed(store, first.name);
      expect(claim.sagas.map(({ id }) => id)).toEqual([first.id]);
      const waiting = await loaded(store, second.id);
      expect(waiting.lock).toEqual({ key: 'k', held: false, holder: first.id });
      expect(waiting).not.toHaveProperty('lockedBy', expect.anything());
      expect(waiting.dueAt).toBeUndefined();
      expect((await claimed(store, first.name)).sagas).toEqual([]);
    });

    test('fills a claim with others when some have to wait', async () => {
      const { store } = subject();
      const sagas = await queue(10);
      await store.start([newSaga({ name: sagas[0]!.name, lockKey: 'other' })], WORKER);
      expect(await claimedIds(store, sagas[0]!.name, 2)).toHaveLength(2);
    });

    test('is announced as due when it is handed over', async () => {
      const { store, messages } = subject();
      const [first] = await queue(2);
      const saga = await active(store, first!.name);
      expect(await claimedIds(store, first!.name)).toEqual([]);
      const received = messages.length;
      await end(saga);
      await eventually(() => expect(messages.slice(received)).toContainEqual({ type: 'due' }));
    });

    test.each([
      ['keeps its lease', {}],
      ['waits for a retry', { release: { dueAt: 4e12 } }],
    ])('is kept by a saga that %s', async (_, given) => {
      const { store } = subject();
      const [first, second] = (await queue(2)) as [NewSaga, NewSaga];
      const saga = await active(store, first.name);
      const lock = { name: saga.name, key: 'k' };
      await store.checkpoint([
        checkpointOf(saga, stateOf('running', { reserve: stepOf() }), { ...given, lock }),
      ]);
      expect(await claimedIds(store, first.name)).toEqual([]);
      expect((await loaded(store, second.id)).lock?.holder).toBe(first.id);
    });

    test('is kept by a stuck saga, until an operator ends it', async () => {
      const { store } = subject();
      const [first, second] = (await queue(2)) as [NewSaga, NewSaga];
      await end(await active(store, first.name), 'stuck');
      expect(await claimedIds(store, first.name)).toEqual([]);
      await store.edit({ id: first.id }, () => ({ state: stateOf('aborted'), step: '', due: false }));
      expect(await claimedIds(store, first.name)).toEqual([second.id]);
    });

    test('is kept through the loss of a worker', async () => {
      const { store, advance } = subject();
      const [first] = (await queue(2)) as [NewSaga, NewSaga];
      await active(store, first.name);
      await advance(LEASE_MS + 1);
      const { sagas } = await claimed(store, first.name, 10, OTHER_WORKER);
      expect(sagas).toMatchObject([{ id: first.id, takeovers: 1, lock: { held: true } }]);
    });

    test('is not handed over by a checkpoint that came too late', async () => {
      const { store, advance } = subject();
      const [first] = (await queue(2)) as [NewSaga, NewSaga];
      const late = await active(store, first.name);
      await advance(LEASE_MS + 1);
      await claimed(store, first.name, 10, OTHER_WORKER);
      expect(await end(late)).toEqual(['fenced']);
      expect(await claimedIds(store, first.name)).toEqual([]);
    });

    test.each(['compensating', 'aborted'] as const)(
      'is not waited for any more by a saga that an operator made %s',
      async (status) => {
        const { store } = subject();
        const [first, second, third] = (await queue(3)) as [NewSaga, NewSaga, NewSaga];
        const holder = await active(store, first.name);
        const due = status === 'compensating';
        await store.edit({ id: second.id }, () => ({ state: stateOf(status), step: '', due }));
        expect((await loaded(store, second.id)).lock).toBeUndefined();
        expect(await claimedIds(store, first.name)).toEqual(due ? [second.id] : []);
        await end(holder);
        expect(await claimedIds(store, first.name)).toEqual([third.id]);
      },
    );

    test('goes on to the next when the one that was about to take it leaves', async () => {
      const { store } = subject();
      const [first, second] = (await queue(2)) as [NewSaga, NewSaga];
      await store.edit({ id: first.id }, () => ({ state: stateOf('aborted'), step: '', due: false }));
      expect(await claimedIds(store, first.name)).toEqual([second.id]);
    });

    test('is not asked for before the saga is to begin', async () => {
      const { store, advance } = subject();
      const [later] = (await queue(1, { delay: 60_000 })) as [NewSaga];
      const now = newSaga({ name: later.name, lockKey: 'k' });
      await store.start([now], WORKER);
      const saga = await active(store, later.name);
      expect(saga.id).toBe(now.id);
      await advance(60_000);
      await store.renew([saga], WORKER);
      expect(await claimedIds(store, later.name)).toEqual([]);
      await end(await loaded(store, now.id));
      expect(await claimedIds(store, later.name)).toContain(later.id);
    });

    test('starts the deadline of the saga that gets it', async () => {
      const { store, advance } = subject();
      const sagas = (await queue(2, { timeout: 100_000 })) as [NewSaga, NewSaga];
      const first = await active(store, sagas[0].name);
      expect(Math.abs(first.state.deadline! - (await storeNow(store)) - 100_000)).toBeLessThan(TOLERANCE_MS);
      expect((await loaded(store, sagas[1].id)).state.deadline).toBeUndefined();
      await advance(20_000);
      await end(first);
      const second = await active(store, sagas[0].name);
      expect(Math.abs(second.state.deadline! - (await storeNow(store)) - 100_000)).toBeLessThan(TOLERANCE_MS);
      expect((await loaded(store, second.id)).state.deadline).toBeCloseTo(second.state.deadline!, 0);
    });

    testOf('transactions', 'starts that take their place at the commit')(
      'is taken by a saga that was started within a transaction',
      async () => {
        const { store } = subject();
        const outer = await held(store);
        const name = uniqueName();
        const [first, second] = [newSaga({ name, lockKey: 'k' }), newSaga({ name, lockKey: 'k' })];
        await store.transact(async ({ transaction }) => {
          await store.startWithin(transaction, first, WORKER);
          return checkpointOf(outer, stateOf('running'));
        }, outer);
        await store.start([second], WORKER);
        const saga = await active(store, name);
        expect(saga.id).toBe(first.id);
        await end(saga);
        expect(await claimedIds(store, name)).toEqual([second.id]);
      },
    );

    testOf('transactions')('is handed over by the transaction that ends a saga', async () => {
      const { store } = subject();
      const [first, second] = (await queue(2)) as [NewSaga, NewSaga];
      const saga = await active(store, first.name);
      const lock = { name: saga.name, key: 'k' };
      const checkpoint = checkpointOf(saga, stateOf('completed'), { release: {}, lock });
      expect(await store.transact(async () => checkpoint, saga)).toBe('saved');
      expect(await claimedIds(store, first.name)).toEqual([second.id]);
    });
  });
}
