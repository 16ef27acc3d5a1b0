import type { SagaStatus } from '../../libs/saga/src/definition/types/saga-status.js';
import {
  checkpointOf,
  claimed,
  claimedIds,
  held,
  LEASE_MS,
  loaded,
  stateOf,
  storeNow,
  type StoreSubject,
  uniqueName,
} from './store-subject.contract.js';

export function describePauses(subject: () => StoreSubject): void {
  const ANN = { by: 'ann', reason: 'payments are down' };
  const listed = async (saga: string, resumed = 0) =>
    (await subject().store.pauses.all(resumed)).pauses.filter((pause) => pause.saga === saga);
  const pausedOf = async (saga: string, resumed?: number) =>
    (await listed(saga, resumed)).map(({ step, resumed: over, isOver }) => ({ step, over: !!over, isOver }));
  /** A saga that comes to rest for these steps. */
  const resting = async (name: string, heldBy: string[], dueAt?: number, status: SagaStatus = 'running') => {
    const { store } = subject();
    const saga = await held(store, { name });
    const given = { heldBy, release: { dueAt }, step: ['reserve', ...heldBy].join(', ') };
    expect(await store.checkpoint([checkpointOf(saga, stateOf(status), given)])).toEqual(['saved']);
    return saga;
  };

  test('is stored once with who and why, until it is resumed; and announced', async () => {
    const { store, messages } = subject();
    const step = { saga: uniqueName(), step: 'charge' };
    const before = messages.length;
    await store.pauses.pause(step, ANN);
    await store.pauses.pause(step, { by: 'bob' });
    await store.pauses.pause({ ...step, step: 'ship' }, {});
    expect(await listed(step.saga)).toEqual([
      { ...step, paused: { ...ANN, at: expect.any(Number) }, isOver: false },
      { ...step, step: 'ship', paused: { at: expect.any(Number) }, isOver: false },
    ]);
    await store.pauses.resume(step, { by: 'bob', reason: 'they are up' });
    await store.pauses.resume(step, { by: 'carl' });
    expect(await pausedOf(step.saga)).toEqual([
      { step: 'charge', over: true, isOver: false },
      { step: 'ship', over: false, isOver: false },
    ]);
    await store.pauses.wake(step);
    expect(await pausedOf(step.saga)).toEqual([{ step: 'ship', over: false, isOver: false }]);
    const [over] = (await listed(step.saga, 100)).filter(({ isOver }) => isOver);
    expect(over).toEqual({
      ...{ ...step, isOver: true, paused: { ...ANN, at: expect.any(Number) } },
      resumed: { by: 'bob', reason: 'they are up', at: expect.any(Number) },
    });
    await store.pauses.pause(step, {});
    expect((await pausedOf(step.saga)).filter(({ over }) => !over)).toHaveLength(2);
    for (let tries = 0; tries < 100 && messages.length === before; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(messages.slice(before)).toContainEqual({ type: 'pauses' });
  });

  test('lets a saga that rests for it sleep, until it is resumed: then all are due at once', async () => {
    const { store } = subject();
    const name = uniqueName();
    const step = { saga: name, step: 'charge' };
    await store.pauses.pause(step, ANN);
    const later = (await storeNow(store)) + 10 * LEASE_MS;
    const [first, second] = [await resting(name, ['charge']), await resting(name, ['charge'], later)];
    expect((await loaded(store, first.id)).dueAt).toBeUndefined();
    expect(await claimedIds(store, name)).toEqual([]);
    const other = await held(store, { name });
    await store.checkpoint([
      checkpointOf(other, stateOf('running'), { release: { dueAt: later }, step: 'chargeback' }),
    ]);
    await subject().advance(1_000);
    await store.pauses.resume(step, {});
    expect(await claimedIds(store, name)).toEqual([]);
    await store.pauses.wake(step);
    expect((await claimedIds(store, name)).sort()).toEqual([first.id, second.id].sort());
    expect((await loaded(store, other.id)).dueAt).toBeGreaterThan(later - LEASE_MS);
  });

  test('wakes all that rest for it although the clock of the database was set back by an hour meanwhile', async () => {
    const { store } = subject();
    const name = uniqueName();
    const step = { saga: name, step: 'charge' };
    await store.pauses.pause(step, ANN);
    const later = (await storeNow(store)) + 10 * LEASE_MS;
    const asleep = [await resting(name, ['charge']), await resting(name, ['charge'], later)];
    await subject().advance(-3_600_000);
    await store.pauses.resume(step, {});
    await store.pauses.wake(step);
    expect((await claimedIds(store, name)).sort()).toEqual(asleep.map(({ id }) => id).sort());
  });

  test('leaves no saga asleep that comes to rest for it after it was resumed, or for one of two', async () => {
    const { store } = subject();
    const name = uniqueName();
    await store.pauses.pause({ saga: name, step: 'charge' }, {});
    await store.pauses.pause({ saga: name, step: 'ship' }, {});
    await store.pauses.resume({ saga: name, step: 'charge' }, {});
    const late = await resting(name, ['charge', 'ship']);
    const asleep = await resting(name, ['ship']);
    expect(await claimedIds(store, name)).toEqual([late.id]);
    expect((await loaded(store, asleep.id)).dueAt).toBeUndefined();
  });

  test('lets a saga that rolls back sleep as well: it asks the participant for an outcome once the step is resumed', async () => {
    const { store } = subject();
    const name = uniqueName();
    const step = { saga: name, step: 'charge' };
    await store.pauses.pause(step, ANN);
    const asleep = await resting(name, ['charge'], undefined, 'compensating');
    expect(await claimedIds(store, name)).toEqual([]);
    await store.pauses.resume(step, {});
    const late = await resting(name, ['charge'], undefined, 'compensating');
    expect(await claimedIds(store, name)).toEqual([late.id]);
    await store.pauses.wake(step);
    expect(await claimedIds(store, name)).toEqual([asleep.id]);
  });

  test('wakes none that is held, has ended, or needs an operator', async () => {
    const { store } = subject();
    const name = uniqueName();
    const step = { saga: name, step: 'charge' };
    await store.pauses.pause(step, {});
    const given = { release: {}, step: 'charge' };
    for (const status of ['completed', 'stuck'] as const)
      await store.checkpoint([checkpointOf(await held(store, { name }), stateOf(status), given)]);
    await held(store, { name, step: 'charge' });
    await subject().advance(1_000);
    await store.pauses.resume(step, {});
    await store.pauses.wake(step);
    expect((await claimed(store, name)).sagas).toEqual([]);
  });

  test('of one saga is none of another', async () => {
    const { store } = subject();
    const [name, other] = [uniqueName(), uniqueName()];
    await store.pauses.pause({ saga: other, step: 'charge' }, {});
    const saga = await resting(name, ['charge']);
    expect(await claimedIds(store, name)).toEqual([saga.id]);
  });
}
