import { type Operation, RECENT_OPERATIONS } from '../../libs/saga/src/engine/ports/operation.js';
import type { Edit } from '../../libs/saga/src/engine/ports/saga-store.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  eventually,
  held,
  LEASE_MS,
  loaded,
  OTHER_WORKER,
  started,
  stateOf,
  stepOf,
  storeNow,
  type StoreSubject,
  TOLERANCE_MS,
  WORKER,
} from './store-subject.contract.js';

export function describeOperations(subject: () => StoreSubject): void {
  const operationOf = (given: Partial<Operation> = {}): Operation => ({
    ...{ id: newId(), action: 'retry', from: 'stuck', revision: 3, proposed: false },
    ...given,
  });
  const edit = (id: string, change: Edit) => subject().store.edit({ id }, () => change);

  describe('an action of an operator', () => {
    test('is stored with the change, and is returned with the saga', async () => {
      const { store } = subject();
      const { id } = await started(store);
      const [first, second] = [
        operationOf({ by: 'ann "a"', reason: "it's\nlate", step: 'ship[3]', newInput: true }),
        operationOf({ action: 'resolve', proposed: true, given: '{"b": 1e400, "a":[1.0]}' }),
      ];
      await edit(id, { state: stateOf('paused'), due: false, step: '', operation: first });
      const edited = await edit(id, { proposal: true, operation: second });
      const kept = [first, second].map((operation) => ({ ...operation, at: expect.any(Number) }));
      expect(edited?.operations).toEqual(kept);
      expect(edited).toEqual(await loaded(store, id));
      expect(await store.history(id, 10)).toEqual(kept);
      const { at } = edited!.operations![0]!;
      expect(Math.abs((await storeNow(store)) - at)).toBeLessThan(TOLERANCE_MS);
    });

    test('is nothing of a change that is refused', async () => {
      const { store } = subject();
      const { id } = await started(store);
      await expect(
        store.edit({ id }, () => {
          throw new Error('It does not fit');
        }),
      ).rejects.toThrow('It does not fit');
      expect([(await loaded(store, id)).operations, await store.history(id, 10)]).toEqual([undefined, []]);
    });

    test('changes nothing else, if it is a proposal', async () => {
      const { store } = subject();
      const saga = await held(store);
      const edited = await edit(saga.id, { proposal: true, operation: operationOf() });
      expect(edited).toEqual({ ...saga, operations: expect.any(Array) });
    });

    test('is returned with the saga if it is recent, and in its history up to the requested limit', async () => {
      const { store } = subject();
      const { id } = await started(store);
      const all = Array.from({ length: RECENT_OPERATIONS + 2 }, (_, n) => operationOf({ revision: n }));
      for (const operation of all) await edit(id, { proposal: true, operation });
      const revisions = (entries: readonly object[]) => entries.map((one) => (one as Operation).revision);
      expect(revisions((await loaded(store, id)).operations!)).toEqual(revisions(all.slice(2)));
      expect(revisions(await store.history(id, 3))).toEqual(revisions(all.slice(-3)));
      expect(revisions(await store.history(id, 100))).toEqual(revisions(all));
    });

    test('is returned with the saga, however long ago, while others may still join it', async () => {
      const { store } = subject();
      const { id, checkpoints } = await started(store);
      const approval = (by: string, given: Partial<Operation> = {}) =>
        operationOf({ action: 'approve', step: 'ship', by, proposed: true, ...given });
      const proposals = [
        approval('ann'),
        approval('bob'),
        // A decision on another step decides nothing about this one.
        approval('eve', { step: 'pay', proposed: false }),
        operationOf({ action: 'resolve', step: 'ship', by: 'ann', proposed: true, revision: checkpoints }),
      ];
      const pauses = Array.from({ length: RECENT_OPERATIONS }, () => operationOf({ action: 'pause' }));
      const keep = async (operations: readonly Operation[]) => {
        for (const operation of operations) await edit(id, { proposal: true, operation });
        return (await loaded(store, id)).operations!.map(({ id: one }) => one);
      };
      const idsOf = (operations: readonly Operation[]) => operations.map(({ id: one }) => one);
      const open = proposals.filter(({ proposed }) => proposed);
      await keep(proposals);
      expect(await keep(pauses)).toEqual(idsOf([...open, ...pauses]));
      // Decided on, the step has none.
      await keep([approval('eve', { proposed: false })]);
      expect(await keep(pauses.map((one) => ({ ...one, id: newId() })))).not.toContain(proposals[0]!.id);
      expect(await keep([])).toHaveLength(RECENT_OPERATIONS + 1);
    });

    test('stands in the history in order with the signals that came in between, decisions apart', async () => {
      const { store, advance } = subject();
      const { id } = await started(store);
      const send = (name: string) =>
        store.signal([{ name, messageId: newId(), payload: '1', target: { id } }]);
      await send('paid');
      await advance(1_000);
      await edit(id, { proposal: true, operation: operationOf() });
      await send('approval:ship');
      await advance(1_000);
      await send('shipped');
      const history = await store.history(id, 10);
      expect(history.map((one) => ('signal' in one ? one.signal : one.action))).toEqual([
        ...['paid', 'retry', 'shipped'],
      ]);
      expect((await store.history(id, 2)).map(({ action }) => action)).toEqual(['retry', 'signal']);
    });

    test('of a saga that is not there is nothing', async () => {
      expect(await subject().store.history(newId(), 10)).toEqual([]);
    });
  });

  describe('a request to pause', () => {
    const request: Edit = { requestPause: true };

    test('reaches the holder of the saga when it renews the lease, and takes no lease away', async () => {
      const { store, messages } = subject();
      const saga = await held(store);
      const edited = await edit(saga.id, request);
      expect(edited).toEqual({ ...saga, pauseRequested: true });
      expect(await store.renew([saga], WORKER)).toMatchObject({ lost: [], paused: [saga.id] });
      await eventually(() => expect(messages).toContainEqual({ type: 'look', id: saga.id }));
    });

    test('lets nothing be stored that does not know of it', async () => {
      const { store } = subject();
      const saga = await held(store);
      await edit(saga.id, request);
      const state = stateOf('running', { reserve: stepOf() });
      expect(await store.checkpoint([checkpointOf(saga, state)])).toEqual(['cancelled']);
      expect((await loaded(store, saga.id)).state.steps.size).toBe(0);
      expect(await store.checkpoint([checkpointOf(saga, state, { pauseSeen: true })])).toEqual(['saved']);
    });

    test('reaches the worker that takes over', async () => {
      const { store, advance } = subject();
      const saga = await held(store);
      await edit(saga.id, request);
      await advance(2 * LEASE_MS);
      const { sagas } = await claimed(store, saga.name, 1, OTHER_WORKER);
      expect(sagas).toMatchObject([{ id: saga.id, pauseRequested: true }]);
    });

    test('is over once the saga was changed by an operator, or is to be cancelled', async () => {
      const { store } = subject();
      const [a, b] = [await held(store), await held(store)];
      await edit(a.id, request);
      expect((await edit(a.id, { state: stateOf('running'), due: true, step: '' }))?.pauseRequested).toBe(
        undefined,
      );
      await edit(b.id, request);
      expect((await edit(b.id, { requestCancel: {} }))?.pauseRequested).toBe(undefined);
    });

    test('leaves a saga that is then paused without a holder', async () => {
      const { store } = subject();
      const saga = await held(store);
      await edit(saga.id, request);
      const paused = stateOf('paused', {}, { heldPhase: 'running' });
      await store.checkpoint([checkpointOf(saga, paused, { release: {}, pauseSeen: true })]);
      expect(await claimedIds(store, saga.name)).toEqual([]);
    });
  });
}
