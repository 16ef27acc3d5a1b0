import { testOf } from './features.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  held,
  LEASE_MS,
  lastCheckpointOf,
  loaded,
  newSaga,
  started,
  stateOf,
  stepOf,
  storeNow,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

/** Everything that waits has its test: slots, pauses, rate limits and schedules are with their own. */
export function describeClock(subject: () => StoreSubject): void {
  const setBack = () => subject().advance(-3_600_000);
  const catchUp = (name: string) => subject().store.catchUp([{ name, version: 1 }]);

  /** An idle saga. */
  const resting = async (name: string, given: Parameters<typeof checkpointOf>[2], dueAt?: number) => {
    const saga = await held(subject().store, { name });
    const checkpoint = checkpointOf(saga, stateOf('running'), { ...given, release: { dueAt } });
    expect(await subject().store.checkpoint([checkpoint])).toEqual(['saved']);
    return saga;
  };

  describe('once its clock was set back by an hour, a store', () => {
    test('makes what was due before due again, and nothing that is to come', async () => {
      const { store } = subject();
      const name = uniqueName();
      const due = [
        await started(store, { name }),
        await started(store, { name, priority: 10 }),
        await resting(name, {}, await storeNow(store)),
      ];
      const parent = await held(store, { name });
      const child = { ...newSaga(), parent: { id: parent.id, step: 'ship' } };
      const waits = stepOf({ status: 'waiting', child: { id: child.id, phase: 'running' } });
      await store.checkpoint([
        checkpointOf(parent, stateOf('running', { ship: waits }), { release: {}, starts: [child] }),
      ]);
      const [taken] = (await claimed(store, child.name)).sagas;
      await store.checkpoint([{ ...lastCheckpointOf(taken!), parent: child.parent }]);
      const later = [
        await started(store, { name, delay: 60_000 }),
        await resting(name, {}, (await storeNow(store)) + 60_000),
        await held(store, { name }),
      ];
      await setBack();
      expect(await claimedIds(store, name)).toEqual([]);
      await catchUp(name);
      const ids = [...due, parent].map(({ id }) => id).sort();
      expect((await claimedIds(store, name)).sort()).toEqual(ids);
      await catchUp(name);
      expect(await claimedIds(store, name)).toEqual([]);
      for (const { id } of later)
        expect((await loaded(store, id)).dueAt! - (await storeNow(store))).toBeGreaterThan(3_500_000);
    });

    test('leaves the sagas of other names and versions to those who run them', async () => {
      const { store } = subject();
      const [name, other] = [uniqueName(), uniqueName()];
      await started(store, { name, version: 2 });
      await started(store, { name: other });
      await setBack();
      await catchUp(name);
      await subject().advance(LEASE_MS);
      expect(await claimedIds(store, other)).toEqual([]);
    });

    test('starts, edits, signals and wakes sagas as before', async () => {
      const { store } = subject();
      const name = uniqueName();
      const edited = await resting(name, {});
      const waits = stepOf({ status: 'waiting', attempts: 0, wait: { signal: 'paid' } });
      const waiting = await held(store, { name });
      await store.checkpoint([checkpointOf(waiting, stateOf('running', { pay: waits }), { release: {} })]);
      await setBack();
      const fresh = await started(store, { name });
      await store.edit({ id: edited.id }, ({ state }) => ({ state, due: true, step: '' }));
      await store.signal([{ target: { id: waiting.id }, name: 'paid', messageId: 'm' }]);
      const ids = [edited, waiting, fresh].map(({ id }) => id).sort();
      expect((await claimedIds(store, name)).sort()).toEqual(ids);
    });

    testOf('locks')('passes locks on, and takes the sagas of leases that its holders give back', async () => {
      const { store } = subject();
      const name = uniqueName();
      const [first, second] = [newSaga({ name, lockKey: 'k' }), newSaga({ name, lockKey: 'k' })];
      for (const saga of [first, second]) await store.start([saga], WORKER);
      const [holder] = (await claimed(store, name)).sagas;
      expect(holder!.id).toBe(first.id);
      await setBack();
      await store.checkpoint([{ ...lastCheckpointOf(holder!), lock: { name, key: 'k' } }]);
      const [next] = (await claimed(store, name)).sagas;
      expect(next!.id).toBe(second.id);
      await store.giveBack([next!], WORKER, 0);
      expect(await claimedIds(store, name)).toEqual([second.id]);
    });
  });
}
