import type { RateRequest } from '../../libs/saga/src/engine/ports/saga-store.js';
import {
  checkpointOf,
  held,
  loaded,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
} from './store-subject.contract.js';

export function describeRateLimits(subject: () => StoreSubject): void {
  const limitOf = (given: Partial<RateRequest> = {}): RateRequest => ({
    ...{ saga: uniqueName(), step: 'charge', count: 2, per: 60_000 },
    ...given,
  });

  describe('a rate limit', () => {
    test('gives so many times at once, and the next ones as early as it allows', async () => {
      const { store } = subject();
      const { times, now } = await store.reserve(limitOf(), 5);
      const expected = [now, now, now + 60_000, now + 60_000, now + 120_000];
      times.forEach((time, n) => expect(time).toBeCloseTo(expected[n]!, 1));
    });

    test('remembers what it gave', async () => {
      const { store, advance } = subject();
      const limit = limitOf();
      await store.reserve(limit, 1);
      await advance(20_000);
      const { times, now } = await store.reserve(limit, 2);
      expect(times[0]).toBeCloseTo(now, 1);
      expect(times[1]! - now).toBeGreaterThan(20_000);
      expect(times[1]! - now).toBeLessThanOrEqual(40_000);
      await advance(120_000);
      const later = await store.reserve(limit, 2);
      for (const time of later.times) expect(time).toBeCloseTo(later.now, 1);
    });

    test('returns times in the future, because callers may receive them late', async () => {
      const { store } = subject();
      const limit = limitOf();
      const { times, now } = await store.reserve({ ...limit, ahead: 5_000 }, 3);
      const expected = [now + 5_000, now + 5_000, now + 65_000];
      times.forEach((time, n) => expect(time).toBeCloseTo(expected[n]!, 1));
    });

    test('is of one step of one saga', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 1 });
      await store.reserve(limit, 1);
      for (const other of [{ ...limit, step: 'ship' }, limitOf({ count: 1 })]) {
        const { times, now } = await store.reserve(other, 1);
        expect(times[0]).toBeCloseTo(now, 1);
      }
    });

    test('is of each key by itself, and of none', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 1 });
      for (const key of ['a', 'b', undefined]) {
        const { times, now } = await store.reserve({ ...limit, key }, 2);
        expect(times[0]).toBeCloseTo(now, 1);
        expect(times[1]).toBeCloseTo(now + 60_000, 1);
      }
      const again = await store.reserve({ ...limit, key: 'a' }, 1);
      expect(again.times[0]! - again.now).toBeGreaterThan(100_000);
    });

    test('of a key is kept while others come and go', async () => {
      const { store, advance } = subject();
      const limit = limitOf({ count: 1 });
      const windowsOf = (key: string, attempts: number) => store.reserve({ ...limit, key }, attempts);
      await windowsOf('long', 3);
      await windowsOf('short', 1);
      await advance(70_000);
      for (let n = 0; n < 5; n += 1) await windowsOf(`other-${n}`, 1);
      const { times, now } = await windowsOf('long', 1);
      expect(times[0]! - now).toBeGreaterThan(90_000);
      const short = await windowsOf('short', 1);
      expect(short.times[0]).toBeCloseTo(short.now, 1);
    });

    test('follows a count that was changed', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 3 });
      await store.reserve(limit, 3);
      const { times, now } = await store.reserve({ ...limit, count: 1 }, 1);
      expect(times[0]! - now).toBeGreaterThan(40_000);
      const more = await store.reserve({ ...limit, count: 3 }, 1);
      expect(more.times[0]).toBeGreaterThanOrEqual(times[0]!);
    });

    test('is kept when many ask at once', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 3 });
      const given = await Promise.all(Array.from({ length: 30 }, () => store.reserve(limit, 2)));
      const times = given.flatMap((reservation) => reservation.times).sort((a, b) => a - b);
      for (let n = 3; n < times.length; n += 1)
        expect(times[n]! - times[n - 3]!).toBeGreaterThanOrEqual(60_000 - 0.01);
    });

    /** Each is given a time of the limit, and rests until then. */
    const waiting = async (limit: RateRequest, count: number) => {
      const { store } = subject();
      const sagas = [];
      for (let n = 0; n < count; n += 1) {
        const saga = await held(store, { name: limit.saga });
        const [at] = (await store.reserve({ ...limit, holder: saga.id }, 1)).times;
        const step = stepOf({ status: 'waiting', attempts: 0, permit: at, retryAt: at });
        const rest = { release: { dueAt: at } };
        await store.checkpoint([checkpointOf(saga, stateOf('running', { charge: step }), rest)]);
        sagas.push({ id: saga.id, at: at! });
      }
      return sagas;
    };
    const abort = async (id: string) =>
      subject().store.edit({ id }, ({ state }) => ({
        ...{ state: { ...state, status: 'aborted' }, due: false, step: '' },
      }));

    test('gives out the times of sagas again that do not wait for them any more', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 1, per: 600_000 });
      await store.reserve(limit, 1);
      const sagas = await waiting(limit, 4);
      await abort(sagas[1]!.id);
      const asked = { ...limit, holder: (await held(store, { name: limit.saga })).id };
      expect((await store.reserve(asked, 1)).times[0]).toBeCloseTo(sagas[1]!.at, 1);
      expect((await store.reserve(asked, 1)).times[0]! - sagas[3]!.at).toBeCloseTo(600_000, 1);
    });

    test('gives a time out again that a saga let pass without beginning, and no time of another saga', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 1, per: 600_000 });
      const asked = { ...limit, holder: (await held(store, { name: limit.saga })).id };
      const [passed] = (await store.reserve(asked, 1)).times;
      const { times, now } = await store.reserve({ ...asked, unused: [passed!] }, 1);
      expect(times[0]).toBeCloseTo(now, 1);
      const [other] = await waiting(limit, 1);
      expect(other!.at - now).toBeCloseTo(600_000, 1);
      // It waits for its time, and the place before it is too small.
      const last = await store.reserve({ ...asked, unused: [other!.at] }, 1);
      expect(last.times[0]! - other!.at).toBeCloseTo(600_000, 1);
    });

    test('fills the gap that a saga has left which let its time pass, beside those that wait', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 2, per: 600_000 });
      const late = { ...limit, holder: (await held(store, { name: limit.saga })).id };
      const [begun] = await waiting(limit, 1);
      let unused = (await store.reserve(late, 1)).times;
      await waiting(limit, 1);
      for (let n = 0; n < 2; n += 1) {
        const { times, now } = await store.reserve({ ...late, unused }, 1);
        expect(times[0]).toBeCloseTo(now, 1);
        unused = times;
      }
      expect((await store.reserve(late, 1)).times[0]! - begun!.at).toBeGreaterThanOrEqual(600_000 - 0.01);
    });

    test('lets the next one begin after one window if all that waited were cancelled', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 2, per: 600_000 });
      const begun = await store.reserve(limit, 2);
      for (const { id } of await waiting(limit, 30)) await abort(id);
      const { times } = await store.reserve({ ...limit, holder: (await held(store)).id }, 3);
      expect(times[0]! - begun.now).toBeCloseTo(600_000, 1);
      expect(times[1]! - begun.now).toBeCloseTo(600_000, 1);
      expect(times[2]! - begun.now).toBeCloseTo(1_200_000, 1);
    });

    test('is another one from then on when its count or its window was changed, beside those that wait already', async () => {
      const { store } = subject();
      const limit = limitOf({ count: 1, per: 600_000 });
      const begun = await store.reserve(limit, 1);
      const sagas = await waiting(limit, 3);
      const { times, now } = await store.reserve({ ...limit, count: 3, per: 100_000 }, 5);
      const expected = [now, now, begun.now + 100_000, now + 100_000, now + 100_000];
      times.forEach((time, n) => expect(time).toBeCloseTo(expected[n]!, 1));
      const tight = await store.reserve({ ...limit, count: 1, per: 400_000 }, 2);
      // There is no room between those that wait.
      expect(tight.times[0]! - sagas[2]!.at).toBeCloseTo(400_000, 0);
    });

    test('makes none wait for a clock of the database that was set back by an hour', async () => {
      const { store, advance } = subject();
      const limit = limitOf();
      await store.reserve(limit, 2);
      await advance(-3_600_000);
      const { times, now } = await store.reserve(limit, 2);
      for (const time of times) expect(time - now).toBeLessThanOrEqual(60_000);
    });

    test('is remembered by the step that was given a time', async () => {
      const { store } = subject();
      const saga = await held(store);
      const step = stepOf({
        status: 'waiting',
        attempts: 0,
        permit: 1_700_000_000_000.25,
        retryAt: 1_700_000_000_000.25,
        limitKey: 'acme',
      });
      await store.checkpoint([checkpointOf(saga, stateOf('running', { charge: step }))]);
      const { permit, retryAt, limitKey } = (await loaded(store, saga.id)).state.steps.get('charge')!;
      expect(limitKey).toBe('acme');
      expect(permit).toBe(1_700_000_000_000.25);
      expect(retryAt).toBeCloseTo(permit!, 1);
    });

    test('is remembered by the saga that was given a time, until it has begun', async () => {
      const { store } = subject();
      const saga = await held(store);
      const turn = { at: 1_700_000_000_000.25, key: 'acme' };
      await store.checkpoint([checkpointOf(saga, stateOf('running', {}, { turn }))]);
      expect((await loaded(store, saga.id)).state.turn).toEqual(turn);
    });
  });
}
