import { testOf } from './features.js';
import { BEYOND, type PutBack } from '../../libs/saga/src/engine/ports/put-back.js';
import type { Operation } from '../../libs/saga/src/engine/ports/operation.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  checkpointOf,
  claimed,
  cleanUp,
  held,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  newSaga,
  OTHER_WORKER,
  started,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

export function describePutBacks(subject: () => StoreSubject): void {
  const operation = (): Operation => ({
    ...{ id: newId(), action: 'put-back', by: WORKER.worker, reason: 'a failover', from: 'running' },
    ...{ revision: 0, proposed: false },
  });
  const putBack = (id: string, given: PutBack) =>
    subject().store.edit({ id }, () => ({ putBack: given, operation: operation() }));
  const DONE = stateOf('running', { reserve: stepOf({ result: '"r"' }), charge: stepOf({ result: '"c"' }) });

  test('tells how far the sagas have come that exist', async () => {
    const { store } = subject();
    const [one, other] = [await held(store), await started(store)];
    await store.checkpoint([checkpointOf(one, DONE, { number: 3 })]);
    expect(await store.revisions([one.id, newId(), other.id])).toEqual(
      expect.arrayContaining([
        { id: one.id, epoch: 1, checkpoints: 3 },
        { id: other.id, epoch: 0, checkpoints: 0 },
      ]),
    );
    expect(await store.revisions([])).toEqual([]);
  });

  testOf('failovers')(
    'a saga that was deleted counts as further than all that a process knows of it, and one that was lost does not',
    async () => {
      const { store, advance } = subject();
      const [{ name, ...saga }, lost] = [await held(store), newId()];
      await store.checkpoint([lastCheckpointOf({ name, ...saga })]);
      const other = await held(store, { name });
      await advance(60_000);
      await store.checkpoint([lastCheckpointOf(other)]);
      await cleanUp(subject(), name, 30_000);
      expect(await store.load({ id: saga.id })).toBeUndefined();
      const revisions = await store.revisions([saga.id, lost, other.id]);
      expect(revisions).toHaveLength(2);
      expect(revisions).toContainEqual({ id: saga.id, epoch: BEYOND, checkpoints: BEYOND });
      expect(revisions).toContainEqual(expect.objectContaining({ id: other.id, epoch: 1 }));
      expect(await store.checkpoint([checkpointOf(saga, DONE)])).toEqual(['fenced']);
    },
  );

  testOf('failovers')('a saga that was deleted with the one that started it is known as well', async () => {
    const { store } = subject();
    const parent = await held(store);
    const child = { ...newSaga(), parent: { id: parent.id, step: 'ship' } };
    await store.checkpoint([checkpointOf(parent, DONE, { starts: [child] })]);
    const [taken] = (await claimed(store, child.name)).sagas;
    await store.checkpoint([lastCheckpointOf(taken!)]);
    await store.checkpoint([lastCheckpointOf(parent)]);
    await cleanUp(subject(), parent.name, 0);
    const both = await store.revisions([parent.id, child.id]);
    expect(both.map(({ checkpoints }) => checkpoints)).toEqual([BEYOND, BEYOND]);
  });

  test('a state that is put back with its lease is continued by its worker, and by no other', async () => {
    const { store } = subject();
    const { id, name } = await started(store);
    const lost = checkpointOf({ id, epoch: 4 }, DONE, { number: 7 });
    await putBack(id, { checkpoint: lost, lease: WORKER, storedAt: 5_000 });
    const saga = await loaded(store, id);
    expect(saga).toMatchObject({ epoch: 4, checkpoints: 7, lockedBy: WORKER.worker, updatedAt: 5_000 });
    expect(saga.state.steps.get('charge')).toMatchObject({ result: '"c"' });
    expect((await claimed(store, name, 1, OTHER_WORKER)).sagas).toEqual([]);
    const next = checkpointOf(saga, DONE, { number: 8, after: 7, holder: WORKER.worker });
    expect(await store.checkpoint([next])).toEqual(['saved']);
    expect(await store.history(id, 10)).toMatchObject([{ action: 'put-back', reason: 'a failover' }]);
  });

  test('a state that is put back without one fences off the holder, and is due', async () => {
    const { store } = subject();
    const saga = await held(store);
    const { now } = await claimed(store, 'nobody', 1);
    const lost = checkpointOf({ ...saga, epoch: 2 }, DONE, { number: 3, release: { dueAt: now } });
    await putBack(saga.id, { checkpoint: lost, storedAt: 5_000 });
    expect(await store.checkpoint([checkpointOf(saga, DONE, { number: 4 })])).toEqual(['fenced']);
    const [taken] = (await claimed(store, saga.name, 1, OTHER_WORKER)).sagas;
    expect(taken).toMatchObject({ id: saga.id, epoch: 3, checkpoints: 3, takeovers: 0 });
  });

  testOf('messages')('a saga that is stored again has its time, its parent and its messages', async () => {
    const { store } = subject();
    const parent = await held(store);
    const { id } = await started(store);
    const before = (await subject().outbox()).length;
    const sent = { id: newId(), topic: 't', key: id, type: 'x', payload: '1', headers: {} };
    await putBack(id, {
      checkpoint: checkpointOf({ id, epoch: 1 }, stateOf('completed'), {
        ...{ number: 2, release: {}, messages: [sent], parent: { id: parent.id, step: 'ship' } },
      }),
      ...{ createdAt: 86_400_000, parent: { id: parent.id, step: 'ship' }, storedAt: 90_000_000 },
    });
    expect(await loaded(store, id)).toMatchObject({
      createdAt: 86_400_000,
      parent: { id: parent.id, step: 'ship' },
      state: { status: 'completed' },
    });
    expect((await subject().outbox()).slice(before)).toMatchObject([{ id: sent.id }]);
  });

  test('a signal that comes later has a number after those that the state has taken', async () => {
    const { store } = subject();
    const { id } = await started(store);
    const state = { ...DONE, lastTakenSignals: { paid: 4 } };
    const lost = checkpointOf({ id, epoch: 1 }, state, { number: 2, release: {} });
    await putBack(id, { checkpoint: lost, storedAt: 5_000 });
    await store.signal([{ target: { id }, name: 'paid', messageId: newId() }]);
    expect(await store.pendingSignals(id)).toMatchObject([{ name: 'paid', number: 5 }]);
  });

  test('a saga has the start time of the state that is put back, and none if that had begun', async () => {
    const { store } = subject();
    for (const startsAt of [undefined, 9_000_000_000_000]) {
      const { id } = await started(store, { delay: 60_000 });
      const state = { ...stateOf('running'), startsAt };
      await putBack(id, {
        ...{ checkpoint: checkpointOf({ id, epoch: 1 }, state, { number: 2, release: {} }), storedAt: 5_000 },
      });
      expect((await loaded(store, id)).state.startsAt).toBe(startsAt);
    }
  });

  testOf('locks', 'failovers')(
    'a saga that had begun under its semantic lock is before those that came meanwhile',
    async () => {
      const { store } = subject();
      const name = uniqueName();
      const [other, again] = [newSaga({ name, lockKey: 'k' }), newSaga({ name, lockKey: 'k' })];
      await store.start([other], WORKER);
      await store.start([again], WORKER);
      const lost = checkpointOf({ id: again.id, epoch: 1 }, DONE, { number: 2, lock: { name, key: 'k' } });
      await putBack(again.id, { checkpoint: lost, createdAt: 86_400_000, storedAt: 90_000_000 });
      expect((await claimed(store, name)).sagas.map(({ id }) => id)).toEqual([again.id]);
      await subject().advance(LEASE_MS);
      expect((await loaded(store, other.id)).lock).toMatchObject({ held: false });
    },
  );
}
