import { until } from '../support/gate.js';
import { testOf } from './features.js';
import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Checkpoint } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { Child, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  eventually,
  held,
  lastCheckpointOf,
  loaded,
  newSaga,
  OTHER_WORKER,
  stateOf,
  stepOf,
  storeNow,
  type StoreSubject,
  TOLERANCE_MS,
  WORKER,
} from './store-subject.contract.js';

export function describeFamilies(subject: () => StoreSubject): void {
  const childOf = (parent: StoredSaga, given: Partial<Child> = {}): Child => ({
    ...newSaga(),
    parent: { id: parent.id, step: 'ship' },
    ...given,
  });
  const waiting = (child: Child) =>
    stateOf('running', { ship: stepOf({ status: 'waiting', child: { id: child.id, phase: 'running' } }) });
  const starting = (parent: StoredSaga, child: Child, given: Partial<Checkpoint> = {}): Checkpoint =>
    checkpointOf(parent, waiting(child), { release: {}, starts: [child], ...given });

  /** A parent without a lease that waits for its child, and the child, which a worker holds. */
  const family = async (store: SagaStore, given: Partial<Checkpoint> = {}) => {
    const parent = await held(store);
    const child = childOf(parent);
    expect(await store.checkpoint([starting(parent, child, given)])).toEqual(['saved']);
    const { sagas } = await claimed(store, child.name);
    return { parent: await loaded(store, parent.id), child: sagas[0]! };
  };
  const end = (store: SagaStore, child: StoredSaga, status: 'completed' | 'compensated' | 'stuck') =>
    store.checkpoint([{ ...lastCheckpointOf(child, status), parent: child.parent }]);

  describe('a saga that waits for another', () => {
    test('starts it with its own checkpoint: it is due, announced, and records its parent', async () => {
      const { store, messages } = subject();
      const parent = await held(store);
      const child = childOf(parent, { input: '{"n":1}', priority: 7 });
      const before = messages.length;
      expect(await store.checkpoint([starting(parent, child)])).toEqual(['saved']);
      expect(await loaded(store, child.id)).toMatchObject({
        parent: { id: parent.id, step: 'ship' },
        input: '{"n":1}',
        priority: 7,
        epoch: 0,
        state: { status: 'running' },
      });
      expect((await loaded(store, parent.id)).state.steps.get('ship')).toMatchObject({
        status: 'waiting',
        child: { id: child.id, phase: 'running' },
      });
      await eventually(() =>
        expect(messages.slice(before)).toContainEqual(expect.objectContaining({ type: 'due' })),
      );
      expect(await claimedIds(store, child.name)).toEqual([child.id]);
    });

    test('finds that it has ended once it is due for that', async () => {
      const { store } = subject();
      for (let n = 0; n < 5; n += 1) {
        const { parent, child } = await family(store);
        const ending = end(store, child, 'completed');
        await until(async () => (await claimedIds(store, parent.name)).length > 0);
        expect((await store.ended([child.id])).map(({ id }) => id)).toEqual([child.id]);
        await ending;
      }
    });

    test('starts it once, however often the checkpoint is sent', async () => {
      const { store } = subject();
      const parent = await held(store);
      const child = childOf(parent);
      const checkpoint = starting(parent, child);
      expect(await store.checkpoint([checkpoint])).toEqual(['saved']);
      expect(await claimedIds(store, child.name)).toEqual([child.id]);
      expect(await store.checkpoint([checkpoint])).toEqual(['saved']);
      expect(await loaded(store, child.id)).toMatchObject({ epoch: 1 });
    });

    test('starts none when its lease is another’s', async () => {
      const { store } = subject();
      const parent = await held(store);
      const child = childOf(parent);
      const late = starting({ ...parent, epoch: parent.epoch - 1 }, child);
      expect(await store.checkpoint([late])).toEqual(['fenced']);
      expect(await store.load({ id: child.id })).toBeUndefined();
    });

    test('starts none when a cancellation was asked for that it does not know of', async () => {
      const { store } = subject();
      const parent = await held(store);
      await store.edit({ id: parent.id }, () => ({ requestCancel: {} }));
      const child = childOf(parent);
      expect(await store.checkpoint([starting(parent, child)])).toEqual(['cancelled']);
      expect(await store.load({ id: child.id })).toBeUndefined();
    });

    test.each(['completed', 'compensated'] as const)('is due once that is %s', async (status) => {
      const { store, messages } = subject();
      const { parent, child } = await family(store);
      expect(parent.dueAt).toBeUndefined();
      const before = messages.length;
      expect(await end(store, child, status)).toEqual(['saved']);
      const woken = await loaded(store, parent.id);
      expect(Math.abs(woken.dueAt! - (await storeNow(store)))).toBeLessThan(TOLERANCE_MS);
      expect(await claimedIds(store, parent.name)).toEqual([parent.id]);
      await eventually(() =>
        expect(messages.slice(before)).toContainEqual(expect.objectContaining({ type: 'due' })),
      );
    });

    test('is due immediately, whatever else it waits for', async () => {
      const { store } = subject();
      const { parent, child } = await family(store, {
        release: { dueAt: (await storeNow(store)) + 600_000 },
      });
      await end(store, child, 'completed');
      expect(await claimedIds(store, parent.name)).toEqual([parent.id]);
    });

    test('goes on waiting while the other needs an operator', async () => {
      const { store } = subject();
      const { parent, child } = await family(store);
      await end(store, child, 'stuck');
      expect((await loaded(store, parent.id)).dueAt).toBeUndefined();
    });

    test('is due once an operator has aborted that', async () => {
      const { store } = subject();
      const { parent, child } = await family(store);
      await store.edit({ id: child.id }, ({ state }) => ({
        state: { ...state, status: 'aborted' },
        step: '',
        due: false,
      }));
      expect(await claimedIds(store, parent.name)).toEqual([parent.id]);
    });

    test('receives the outcome while a worker holds it, and is due immediately if the worker releases it without it', async () => {
      const { store, messages } = subject();
      const { parent, child } = await family(store, { release: undefined });
      const before = messages.length;
      await end(store, child, 'completed');
      await eventually(() => expect(messages.slice(before)).toContainEqual({ type: 'look', id: parent.id }));
      expect(await claimedIds(store, parent.name)).toEqual([]);
      const released = messages.length;
      await store.checkpoint([checkpointOf(parent, parent.state, { release: {} })]);
      await eventually(() => expect(messages.slice(released)).toContainEqual({ type: 'due' }));
      const { sagas } = await claimed(store, parent.name, 1, OTHER_WORKER);
      expect(sagas.map(({ id }) => id)).toEqual([parent.id]);
      // A claim delivers the outcome.
      await store.checkpoint([checkpointOf(sagas[0]!, parent.state, { release: {} })]);
      expect((await loaded(store, parent.id)).dueAt).toBeUndefined();
    });

    test('has received the outcome when it is claimed under a limit, too', async () => {
      const { store } = subject();
      const { parent, child } = await family(store);
      await end(store, child, 'completed');
      const limited = { name: parent.name, version: 1, maxLeases: 1 };
      const { sagas } = await store.claim({ lease: WORKER, sagas: [limited], limit: 10 });
      expect(sagas.map(({ id }) => id)).toEqual([parent.id]);
      await store.checkpoint([checkpointOf(sagas[0]!, parent.state, { release: {} })]);
      expect((await loaded(store, parent.id)).dueAt).toBeUndefined();
    });

    test('stays idle while it needs an operator itself', async () => {
      const { store } = subject();
      const { parent, child } = await family(store, { release: undefined });
      await store.checkpoint([checkpointOf(parent, { ...parent.state, status: 'stuck' }, { release: {} })]);
      await end(store, child, 'completed');
      expect((await loaded(store, parent.id)).dueAt).toBeUndefined();
      expect(await claimedIds(store, parent.name)).toEqual([]);
    });

    testOf('locks')('may hold a semantic lock, and start one that has to wait for another', async () => {
      const { store } = subject();
      const first = newSaga({ lockKey: 'k' });
      await store.start([first], OTHER_WORKER);
      const holder = (await claimed(store, first.name)).sagas[0]!;
      const parent = await held(store);
      const child = childOf(parent, { name: first.name, lockKey: 'k' });
      await store.checkpoint([starting(parent, child)]);
      expect(await claimedIds(store, child.name)).toEqual([]);
      await store.checkpoint([{ ...lastCheckpointOf(holder), lock: { name: holder.name, key: 'k' } }]);
      const [next] = (await claimed(store, child.name)).sagas;
      expect(next).toMatchObject({ id: child.id, parent: { id: parent.id } });
      await store.checkpoint([
        { ...lastCheckpointOf(next!), lock: { name: child.name, key: 'k' }, parent: next!.parent },
      ]);
      expect(await claimedIds(store, parent.name)).toEqual([parent.id]);
    });
  });

  describe('those that have ended', () => {
    test('are found by their ids, and no others', async () => {
      const { store } = subject();
      const [running, stuck, completed, compensated] = await Promise.all(
        Array.from({ length: 4 }, () => held(store)),
      );
      await end(store, stuck!, 'stuck');
      await end(store, completed!, 'completed');
      await end(store, compensated!, 'compensated');
      const ids = [running!, stuck!, completed!, compensated!].map(({ id }) => id);
      const found = await store.ended(ids);
      expect(found.map(({ id }) => id).sort()).toEqual([completed!.id, compensated!.id].sort());
      expect(found.find(({ id }) => id === completed!.id)?.state.steps.get('reserve')).toMatchObject({
        status: 'completed',
      });
      expect(await store.ended([])).toEqual([]);
    });
  });
}
