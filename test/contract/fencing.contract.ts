import { testOf } from './features.js';
import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  checkpointOf,
  claimed,
  held,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describeFencing(subject: () => StoreSubject): void {
  /** A saga that `WORKER` held until its lease ended, and `OTHER_WORKER` holds now; as the first knew it. */
  const takenFrom = async (saga: StoredSaga) => {
    await subject().advance(LEASE_MS);
    const { sagas } = await claimed(subject().store, saga.name, 1, OTHER_WORKER);
    expect(sagas.map(({ id }) => id)).toEqual([saga.id]);
  };
  const requestCancel = (saga: StoredSaga, reason?: string) =>
    subject().store.edit({ id: saga.id }, () => ({ requestCancel: { reason } }));

  describe('a worker that lost its lease to another', () => {
    test('changes nothing by its checkpoint', async () => {
      const { store } = subject();
      const saga = await held(store);
      await takenFrom(saga);
      const before = await loaded(store, saga.id);
      expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['fenced']);
      expect(await loaded(store, saga.id)).toEqual(before);
    });

    test('receives that when it renews', async () => {
      const { store } = subject();
      const saga = await held(store);
      await takenFrom(saga);
      const { lost } = await store.renew([saga], WORKER);
      expect(lost).toEqual([saga.id]);
      expect(await loaded(store, saga.id)).toMatchObject({ lockedBy: OTHER_WORKER.worker, epoch: 2 });
    });

    testOf('transactions')('commits nothing of its transaction', async () => {
      const { store } = subject();
      const saga = await held(store);
      await takenFrom(saga);
      const before = await loaded(store, saga.id);
      expect(await store.transact(async () => lastCheckpointOf(saga), saga)).toBe('fenced');
      expect(await loaded(store, saga.id)).toEqual(before);
    });

    test('finds that an operator’s change counts as another’s', async () => {
      const { store } = subject();
      const saga = await held(store);
      await store.edit({ id: saga.id }, () => ({ state: stateOf('aborted'), due: false, step: '' }));
      expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['fenced']);
      expect((await store.renew([saga], WORKER)).lost).toEqual([saga.id]);
      expect((await loaded(store, saga.id)).state.status).toBe('aborted');
    });
  });

  test('a worker whose lease expired can save its checkpoint until another worker takes over', async () => {
    const { store, advance } = subject();
    const saga = await held(store);
    await advance(LEASE_MS * 2);
    expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['saved']);
  });

  test('a checkpoint of a saga that is not there is fenced', async () => {
    const nobody = checkpointOf({ id: newId(), epoch: 0 }, stateOf('completed'));
    expect(await subject().store.checkpoint([nobody])).toEqual(['fenced']);
  });

  describe('a cancellation', () => {
    test('refuses checkpoints that do not know of it, and lets those pass that do', async () => {
      const { store } = subject();
      const saga = await held(store);
      await requestCancel(saga, 'changed my mind');
      const before = await loaded(store, saga.id);
      expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['cancelled']);
      expect(await loaded(store, saga.id)).toEqual(before);
      const turningBack = checkpointOf(saga, stateOf('compensating'), { cancelSeen: true });
      expect(await store.checkpoint([turningBack])).toEqual(['saved']);
      expect((await loaded(store, saga.id)).state.status).toBe('compensating');
    });

    testOf('transactions', 'cancellations that roll back')(
      'refuses the checkpoint of a transaction that does not know of it, which rolls back',
      async () => {
        const { store } = subject();
        const saga = await held(store);
        await requestCancel(saga, 'changed my mind');
        const before = await loaded(store, saga.id);
        expect(await store.transact(async () => lastCheckpointOf(saga), saga)).toBe('cancelled');
        expect(await loaded(store, saga.id)).toEqual(before);
      },
    );

    test('that was not requested may be acknowledged', async () => {
      const { store } = subject();
      const saga = await held(store);
      const checkpoint = { ...lastCheckpointOf(saga), cancelSeen: true };
      expect(await store.checkpoint([checkpoint])).toEqual(['saved']);
    });

    test('fences no worker: only a worker that lost its lease is fenced', async () => {
      const { store } = subject();
      const saga = await held(store);
      await requestCancel(saga);
      await takenFrom(saga);
      expect(await store.checkpoint([lastCheckpointOf(saga)])).toEqual(['fenced']);
    });

    test('reaches the holder of the lease when it renews, and the worker that claims the saga', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      await requestCancel(saga, 'changed my mind');
      const { cancelled, lost } = await store.renew([saga], WORKER);
      expect({ cancelled, lost }).toEqual({
        cancelled: [{ id: saga.id, reason: 'changed my mind' }],
        lost: [],
      });
      await advance(LEASE_MS);
      const { sagas } = await claimed(store, saga.name);
      expect(sagas[0]?.cancelRequested).toEqual({ reason: 'changed my mind' });
    });
  });

  test('in one batch some may be fenced or cancelled, and the others are saved all the same', async () => {
    const { store } = subject();
    const fenced = await held(store);
    await takenFrom(fenced);
    const [a, cancelled, b] = [await held(store), await held(store), await held(store)];
    await requestCancel(cancelled);
    const nobody = { ...a, id: newId() };
    const results = await store.checkpoint([a, fenced, cancelled, nobody, b].map((s) => lastCheckpointOf(s)));
    expect(results).toEqual(['saved', 'fenced', 'cancelled', 'fenced', 'saved']);
    const status = async ({ id }: StoredSaga) => (await loaded(store, id)).state.status;
    expect(await Promise.all([a, fenced, cancelled, b].map(status))).toEqual([
      'completed',
      'running',
      'running',
      'completed',
    ]);
  });

  test('of a checkpoint and an operator’s change at once, the change knows the checkpoint or fences it', async () => {
    const { store } = subject();
    for (let round = 0; round < 10; round += 1) {
      const saga = await held(store);
      const checkpoint = checkpointOf(saga, stateOf('running', { a: stepOf({ result: '1' }) }));
      const [[result], edited] = await Promise.all([
        store.checkpoint([checkpoint]),
        store.edit({ id: saga.id }, ({ state }) => ({
          state: { ...state, status: 'paused' },
          due: false,
          step: 'a',
        })),
      ]);
      const stored = await loaded(store, saga.id);
      expect(stored.state.status).toBe('paused');
      expect(stored.state).toEqual(edited?.state);
      expect(stored.state.steps.get('a')?.result).toBe(result === 'saved' ? '1' : undefined);
    }
  });

  describe('a transaction', () => {
    testOf('transactions')('stores the checkpoint that its work returns', async () => {
      const { store } = subject();
      const saga = await held(store);
      expect(await store.transact(async () => lastCheckpointOf(saga), saga)).toBe('saved');
      expect(await loaded(store, saga.id)).toMatchObject({ state: { status: 'completed' } });
    });

    testOf('transactions')('whose work throws stores nothing, and throws the same', async () => {
      const { store } = subject();
      const saga = await held(store);
      const error = new Error('out of stock');
      await expect(store.transact(() => Promise.reject(error), saga)).rejects.toBe(error);
      expect(await loaded(store, saga.id)).toEqual(saga);
    });
  });

  test('calls that concern the same sagas, in any order, never wait for each other in a circle', async () => {
    const { store } = subject();
    const sagas = Array.from({ length: 100 }, () => newSaga({ leased: true }));
    await store.start(sagas, WORKER);
    const leases = sagas.map(({ id }) => ({ id, epoch: 1 }));
    const backwards = [...leases].reverse();
    const signals = backwards.map(({ id }) => ({ name: 'reply', messageId: uniqueName(), target: { id } }));
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([
        store.checkpoint(
          leases.map((lease) => checkpointOf(lease, stateOf('running', { reserve: stepOf() }))),
        ),
        store.renew(backwards, WORKER),
        store.watch(backwards.map(({ id }) => id)),
        store.signal(signals),
        store.checkpoint(
          backwards.map((lease) => checkpointOf(lease, stateOf('running', { reserve: stepOf() }))),
        ),
      ]);
    }
  });
}
