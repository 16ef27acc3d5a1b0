import { SLOT_KEPT_MS, type SlotLimit } from '../../libs/saga/src/engine/ports/step-slots.js';
import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  eventually,
  held,
  lastCheckpointOf,
  LEASE_MS,
  loaded,
  OTHER_WORKER,
  started,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
} from './store-subject.contract.js';

export function describeStepSlots(subject: () => StoreSubject): void {
  const limitOf = (given: Partial<SlotLimit> = {}): SlotLimit => ({
    ...{ saga: uniqueName(), step: 'charge', count: 1 },
    ...given,
  });
  let turns = 0;
  const holderOf = ({ saga: name }: SlotLimit) => held(subject().store, { name });
  const take = (limit: SlotLimit, saga: StoredSaga, ...steps: string[]) =>
    subject().store.stepSlots.take(
      limit,
      { ...saga, turn: (turns += 1) },
      steps.length > 0 ? steps : ['charge'],
    );
  const free = (limit: SlotLimit, saga: StoredSaga, ...steps: string[]) =>
    subject().store.stepSlots.free(limit, { ...saga, turn: turns }, steps.length > 0 ? steps : ['charge']);
  const sweep = async ({ saga, step, count }: SlotLimit) => {
    await subject().advance(5_000);
    await subject().store.stepSlots.sweep([{ name: saga, version: 1, steps: new Map([[step, count]]) }]);
  };
  /** A saga waits, and its lease is given back. */
  const rest = async (limit: SlotLimit, saga: StoredSaga) => {
    expect(await take(limit, saga)).toEqual([]);
    const waiting = stepOf({ status: 'waiting', attempts: 0, slot: { since: 1 } });
    const checkpoint = checkpointOf(saga, stateOf('running', { charge: waiting }), { release: {} });
    expect(await subject().store.checkpoint([checkpoint])).toEqual(['saved']);
  };
  /** The sagas that are due are claimed, and come for their slots. */
  const comers = async (limit: SlotLimit): Promise<string[]> => {
    const { sagas } = await claimed(subject().store, limit.saga);
    for (const saga of sagas) expect(await take(limit, saga)).toEqual(['charge']);
    return sagas.map(({ id }) => id);
  };

  describe('the slots of a step', () => {
    test('are given to so many of its sagas, and of each key by itself', async () => {
      const limit = limitOf({ count: 2 });
      const [a, b, c] = [await holderOf(limit), await holderOf(limit), await holderOf(limit)];
      expect([await take(limit, a), await take(limit, b), await take(limit, c)]).toEqual([
        ['charge'],
        ['charge'],
        [],
      ]);
      expect(await take({ ...limit, key: 'x' }, c)).toEqual(['charge']);
      expect(await take({ ...limit, step: 'ship' }, c)).toEqual(['charge']);
      // Who asks again has no second one.
      expect(await take(limit, a)).toEqual(['charge']);
    });

    test('are given to items one by one', async () => {
      const limit = limitOf({ count: 3 });
      const [a, b] = [await holderOf(limit), await holderOf(limit)];
      expect(await take(limit, a, 'charge[0]', 'charge[1]')).toEqual(['charge[0]', 'charge[1]']);
      expect(await take(limit, b, 'charge[0]', 'charge[1]')).toEqual(['charge[0]']);
      await free(limit, a, 'charge[1]');
      expect(await take(limit, b, 'charge[1]')).toEqual(['charge[1]']);
    });

    test('come free for those who wait in their order, and make them due one by one', async () => {
      const limit = limitOf();
      const first = await holderOf(limit);
      expect(await take(limit, first)).toEqual(['charge']);
      const waiting = [await holderOf(limit), await holderOf(limit), await holderOf(limit)];
      for (const saga of waiting) await rest(limit, saga);
      expect((await loaded(subject().store, waiting[0]!.id)).state.steps.get('charge')!.slot).toEqual({
        since: 1,
      });
      expect(await claimedIds(subject().store, limit.saga)).toEqual([]);
      await free(limit, first);
      // Who comes now waits behind those who were there.
      expect(await take(limit, await holderOf(limit))).toEqual([]);
      for (const { id } of waiting) {
        expect(await comers(limit)).toEqual([id]);
        await free(limit, await loaded(subject().store, id));
      }
    });

    test('are announced to a saga that waits for one under its lease', async () => {
      const limit = limitOf();
      const [first, second] = [await holderOf(limit), await holderOf(limit)];
      await take(limit, first);
      expect(await take(limit, second)).toEqual([]);
      await free(limit, first);
      await eventually(() => expect(subject().messages).toContainEqual({ type: 'look', id: second.id }));
      // It gives its lease back without having received that, and is due at once.
      const waiting = stepOf({ status: 'waiting', attempts: 0, slot: { since: 1 } });
      const checkpoint = checkpointOf(second, stateOf('running', { charge: waiting }), { release: {} });
      await subject().store.checkpoint([checkpoint]);
      expect(await comers(limit)).toEqual([second.id]);
    });

    test('are refused to a lease that is lost, and count no more once it has run out', async () => {
      const limit = limitOf();
      const [lost, next] = [await holderOf(limit), await holderOf(limit)];
      expect(await take(limit, lost)).toEqual(['charge']);
      await rest(limit, next);
      await sweep(limit);
      expect(await claimedIds(subject().store, limit.saga)).toEqual([]);
      await subject().advance(LEASE_MS);
      expect(await take(limit, lost)).toBeUndefined();
      await sweep(limit);
      const { sagas } = await claimed(subject().store, limit.saga, 100, OTHER_WORKER);
      expect(sagas.map(({ id }) => id).sort()).toEqual([lost.id, next.id].sort());
      const [mine, other] = [lost, next].map(({ id }) => sagas.find((saga) => saga.id === id)!);
      expect(await take(limit, other!)).toEqual(['charge']);
      expect(await take(limit, mine!)).toEqual([]);
      // What the lost worker frees is not the new one's.
      await free(limit, lost);
      expect(await take(limit, await holderOf(limit))).toEqual([]);
      await free(limit, other!);
      expect(await take(limit, mine!)).toEqual(['charge']);
    });

    test('are not freed by a call that arrives late, after they were taken again', async () => {
      const limit = limitOf();
      const [saga, other] = [await holderOf(limit), await holderOf(limit)];
      await take(limit, saga);
      const late = { ...saga, turn: turns };
      await free(limit, saga);
      expect(await take(limit, saga)).toEqual(['charge']);
      await subject().store.stepSlots.free(limit, late, ['charge']);
      expect(await take(limit, other)).toEqual([]);
    });

    test('are free once their saga has given back its lease, although they were not freed', async () => {
      const limit = limitOf();
      const [ended, next] = [await holderOf(limit), await holderOf(limit)];
      await take(limit, ended);
      await rest(limit, next);
      await subject().store.checkpoint([lastCheckpointOf(ended)]);
      await sweep(limit);
      expect(await comers(limit)).toEqual([next.id]);
    });

    test('go to the next one if the one who was called does not come, or does not wait any more', async () => {
      const limit = limitOf();
      const [first, absent, cancelled, next] = [
        await holderOf(limit),
        await holderOf(limit),
        await holderOf(limit),
        await holderOf(limit),
      ];
      await take(limit, first);
      for (const saga of [absent, cancelled, next]) await rest(limit, saga);
      await subject().store.edit({ id: cancelled.id }, ({ state }) => ({
        ...{ state: { ...state, status: 'aborted' }, due: false, step: '' },
      }));
      await free(limit, first);
      await sweep(limit);
      expect(await take(limit, await holderOf(limit))).toEqual([]);
      await subject().advance(SLOT_KEPT_MS);
      await sweep(limit);
      const { sagas } = await claimed(subject().store, limit.saga);
      expect(sagas.map(({ id }) => id)).toEqual(expect.arrayContaining([absent.id, next.id]));
      const called = sagas.find(({ id }) => id === next.id)!;
      expect(await take(limit, called)).toEqual(['charge']);
    });

    test('are for the saga that has waited longest, however late it comes after it was called', async () => {
      const limit = limitOf();
      const first = await holderOf(limit);
      await take(limit, first);
      const waiting = [await holderOf(limit), await holderOf(limit), await holderOf(limit)];
      for (const saga of waiting) await rest(limit, saga);
      await free(limit, first);
      // None of them comes, and one after the other is called.
      for (const _ of waiting) {
        await subject().advance(SLOT_KEPT_MS);
        await sweep(limit);
      }
      const { sagas } = await claimed(subject().store, limit.saga);
      const arrived = waiting.map(({ id }) => sagas.find((saga) => saga.id === id)!);
      expect(await take(limit, arrived[0]!)).toEqual(['charge']);
      // Those that were called after it have lost the slot that was kept for them, and keep their places.
      expect(await take(limit, await holderOf(limit))).toEqual([]);
      for (const [n, saga] of arrived.entries()) {
        for (const later of arrived.slice(n + 1).reverse()) expect(await take(limit, later)).toEqual([]);
        await free(limit, saga);
        if (n + 1 < arrived.length) expect(await take(limit, arrived[n + 1]!)).toEqual(['charge']);
      }
    });

    test('are taken before what has become due since the saga began to wait for them', async () => {
      const limit = limitOf();
      const [first, waiting] = [await holderOf(limit), await holderOf(limit)];
      await take(limit, first);
      await rest(limit, waiting);
      await subject().advance(5_000);
      await started(subject().store, { name: limit.saga });
      await subject().advance(5_000);
      await free(limit, first);
      expect(await claimedIds(subject().store, limit.saga, 1)).toEqual([waiting.id]);
    });

    test('are given by the limit of the version that takes them, whichever process has called its saga', async () => {
      const limit = limitOf();
      const [first, next] = [await holderOf(limit), await holderOf(limit)];
      await take(limit, first);
      await rest(limit, next);
      // By a process that has another version 1, without the limit.
      await subject().advance(5_000);
      await subject().store.stepSlots.sweep([{ name: limit.saga, version: 1, steps: new Map() }]);
      const { sagas } = await claimed(subject().store, limit.saga);
      expect(sagas.map(({ id }) => id)).toEqual([next.id]);
      expect(await take(limit, sagas[0]!)).toEqual([]);
      await free(limit, first);
      expect(await take(limit, sagas[0]!)).toEqual(['charge']);
    });

    test('are kept by the version that has the limit, beside one of the same name without it', async () => {
      const limit = limitOf();
      const [first, next] = [await holderOf(limit), await holderOf(limit)];
      await take(limit, first);
      await rest(limit, next);
      const versions = [
        { name: limit.saga, version: 2, steps: new Map<string, number>() },
        { name: limit.saga, version: 1, steps: new Map([[limit.step, 1]]) },
      ];
      await subject().advance(5_000);
      await subject().store.stepSlots.sweep(versions);
      expect(await claimedIds(subject().store, limit.saga)).toEqual([]);
    });

    test('are waited for by an idle saga for which a statement that came late has taken one', async () => {
      const limit = limitOf();
      const [first, second] = [await holderOf(limit), await holderOf(limit)];
      await take(limit, first);
      expect(await take(limit, second)).toEqual([]);
      const late = { ...second, turn: turns };
      // It frees nothing.
      await subject().store.checkpoint([lastCheckpointOf(first)]);
      expect(await subject().store.stepSlots.take(limit, late, ['charge'])).toEqual(['charge']);
      const waiting = stepOf({ status: 'waiting', attempts: 0, slot: { since: 1 } });
      const checkpoint = checkpointOf(second, stateOf('running', { charge: waiting }), { release: {} });
      await subject().store.checkpoint([checkpoint]);
      await sweep(limit);
      expect(await comers(limit)).toEqual([second.id]);
    });

    test('come free although the clock of the database was set back by an hour', async () => {
      const limit = limitOf();
      const [first, absent, next] = [await holderOf(limit), await holderOf(limit), await holderOf(limit)];
      await take(limit, first);
      for (const saga of [absent, next]) await rest(limit, saga);
      await free(limit, first);
      await subject().advance(-3_600_000);
      await sweep(limit);
      await subject().advance(SLOT_KEPT_MS);
      await sweep(limit);
      expect(await claimedIds(subject().store, limit.saga)).toContain(next.id);
    });

    test('are waited for no more once the step has no limit', async () => {
      const limit = limitOf();
      const [first, next] = [await holderOf(limit), await holderOf(limit)];
      await take(limit, first);
      await rest(limit, next);
      await subject().advance(5_000);
      const withoutLimit = (name: string, version = 1) =>
        subject().store.stepSlots.sweep([{ name, version, steps: new Map() }]);
      await withoutLimit(uniqueName());
      await withoutLimit(limit.saga, 2);
      expect(await claimedIds(subject().store, limit.saga)).toEqual([]);
      await subject().advance(5_000);
      await withoutLimit(limit.saga);
      expect(await claimedIds(subject().store, limit.saga)).toEqual([next.id]);
    });
  });
}
