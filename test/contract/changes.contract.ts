import { seenOf } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  checkpointOf,
  held,
  LEASE_MS,
  loaded,
  stateOf,
  type StoreSubject,
  WORKER,
} from './store-subject.contract.js';

export function describeChanges(subject: () => StoreSubject): void {
  describe('a process that watches a saga', () => {
    test('receives it if it differs from what was seen, and nothing about those that do not', async () => {
      const { store } = subject();
      const [same, changed] = [await held(store), await held(store)];
      await store.checkpoint([checkpointOf(changed, stateOf('running'))]);
      const watched = [same, changed].map((saga) => ({ id: saga.id, seen: seenOf(saga) }));
      const [change, ...others] = await store.changes(watched);
      expect(others).toEqual([]);
      expect(change).toMatchObject({ id: changed.id, saga: { id: changed.id } });
      expect((change!.saga as StoredSaga).checkpoints).toBeGreaterThan(changed.checkpoints);
      expect(change!.seen).toBe(seenOf(await loaded(store, changed.id)));
      expect(await store.changes([{ id: changed.id, seen: change!.seen }])).toEqual([]);
      expect(await store.changes([])).toEqual([]);
    });

    test('receives each saga of which nothing was seen, and learns that one does not exist', async () => {
      const { store } = subject();
      const [saga, gone] = [await held(store), newId()];
      const changes = await store.changes([{ id: saga.id }, { id: gone, seen: '0.0.fff.' }]);
      expect(changes.find(({ id }) => id === saga.id)?.saga).toMatchObject({ id: saga.id });
      expect(changes.find(({ id }) => id === gone)).toEqual({ id: gone, seen: '', saga: undefined });
    });

    test('a renewal of the lease is no change; its end, a request and another holder are', async () => {
      const { store } = subject();
      const saga = await held(store);
      const seen = { id: saga.id, seen: seenOf(saga) };
      await store.renew([saga], WORKER);
      expect(await store.changes([seen])).toEqual([]);
      await store.edit({ id: saga.id }, () => ({ requestPause: true }));
      expect(await store.changes([seen])).toMatchObject([{ saga: { pauseRequested: true } }]);
      await store.edit({ id: saga.id }, () => ({ requestCancel: { reason: 'no' } }));
      const [cancelled] = await store.changes([seen]);
      expect(cancelled!.seen).toBe(seenOf(await loaded(store, saga.id)));
      await store.giveBack([saga], WORKER, 60_000);
      expect(await store.changes([{ id: saga.id, seen: cancelled!.seen }])).toHaveLength(1);
    });
  });

  describe('what steps report', () => {
    const reports = '{"book":{"round":1,"heartbeat":{"at":1,"details":{"line":7}}}}';

    test('is stored with a renewal of the lease, and stays until the next report', async () => {
      const { store } = subject();
      const [reporting, other] = [await held(store), await held(store)];
      const before = { id: reporting.id, seen: seenOf(reporting) };
      const renewed = await store.renew([{ ...other }, { ...reporting, reports }], WORKER);
      expect(renewed).toMatchObject({ lost: [], cancelled: [], paused: [] });
      expect(JSON.parse((await loaded(store, reporting.id)).reports!)).toEqual(JSON.parse(reports));
      expect((await loaded(store, other.id)).reports).toBeUndefined();
      const [change] = await store.changes([before]);
      expect(change).toMatchObject({ id: reporting.id, saga: { checkpoints: reporting.checkpoints } });
      await store.renew([reporting], WORKER);
      expect(await store.changes([{ id: reporting.id, seen: change!.seen }])).toEqual([]);
      await store.checkpoint([checkpointOf(reporting, stateOf('running'))]);
      expect(JSON.parse((await loaded(store, reporting.id)).reports!)).toEqual(JSON.parse(reports));
      await store.renew([{ id: reporting.id, epoch: reporting.epoch, reports: '{}' }], WORKER);
      expect(JSON.parse((await loaded(store, reporting.id)).reports!)).toEqual({});
    });

    test('is refused of a worker that has lost the lease, and of another one', async () => {
      const { store } = subject();
      const saga = await held(store);
      const { id, epoch } = saga;
      const other = { worker: 'worker-2', duration: LEASE_MS };
      expect(await store.renew([{ id, epoch, reports }], other)).toMatchObject({ lost: [id] });
      expect(await store.renew([{ id, epoch: epoch + 1, reports }], WORKER)).toMatchObject({ lost: [id] });
      expect((await loaded(store, id)).reports).toBeUndefined();
    });

    test('is there for the worker that claims the saga next', async () => {
      const { store } = subject();
      const saga = await held(store);
      await store.renew([{ id: saga.id, epoch: saga.epoch, reports }], WORKER);
      await store.checkpoint([checkpointOf(saga, stateOf('running'), { release: { dueAt: 0 } })]);
      const { sagas } = await store.claim({ lease: WORKER, sagas: [saga], limit: 10 });
      expect(JSON.parse(sagas[0]!.reports!)).toEqual(JSON.parse(reports));
    });
  });
}
