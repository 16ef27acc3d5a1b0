import { setImmediate as turn } from 'node:timers/promises';
import { collectGarbage } from '../../../../../test/support/collect-garbage.js';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import type { Clock } from '../../shared/clock.js';
import { PENDING } from '../../machine/saga-state.js';
import type { NewSaga } from '../ports/stored-saga.js';
import { RecentSagas } from './recent-sagas.js';

const saga = (id: string, input = ''): NewSaga => ({
  ...{ id, input, fresh: true, name: 'order', version: 1, priority: 0, step: 's', leased: true },
});

let now: number;
const clock = { monotonic: () => now } as Clock;
const idsOf = (recent: RecentSagas) => recent.all().map(({ id }) => id);

beforeEach(() => (now = 0));

test('what was not written for the time of the window is forgotten', () => {
  const recent = new RecentSagas({ window: 100, bytes: 1e9 }, clock);
  recent.started(saga('a'), 0);
  now = 60;
  recent.started(saga('b'), 0);
  now = 90;
  recent.started(saga('a'), 0);
  now = 150;
  recent.trim();
  expect(idsOf(recent)).toEqual(['b', 'a']);
  now = 170;
  recent.trim();
  expect(idsOf(recent)).toEqual(['a']);
  now = 191;
  recent.trim();
  expect(recent.size).toBe(0);
});

test('the oldest are forgotten once all take more than the bytes', () => {
  const recent = new RecentSagas({ window: 1e9, bytes: 100_000 }, clock);
  for (let n = 0; n < 20; n += 1) {
    now = n;
    recent.started(saga(`${n}`, 'x'.repeat(20_000)), 0);
  }
  expect(idsOf(recent)).toEqual(['16', '17', '18', '19']);
});

test('after many thousand sagas, no more than the window is held', () => {
  const recent = new RecentSagas({ window: 100, bytes: 1e9 }, clock);
  for (now = 0; now < 30_000; now += 1) recent.started(saga(`${now}`), 0);
  expect(recent.size).toBe(101);
  expect(recent.all()).toHaveLength(101);
});

test('what is forgotten takes no memory, even if its place in the queue is not free yet', async () => {
  const recent = new RecentSagas({ window: 100, bytes: 1e9 }, clock);
  const held = () => {
    const one = saga('a');
    recent.started(one, 0);
    return new WeakRef(one);
  };
  const [forgotten, kept] = [held(), saga('b')];
  now = 60;
  recent.started(kept, 0);
  now = 101;
  recent.trim();
  expect(idsOf(recent)).toEqual(['b']);
  // A WeakRef that was made in this turn of the event loop is held until its end.
  await turn();
  collectGarbage();
  expect(forgotten.deref()).toBeUndefined();
});

test('the errors of a saga count: a saga with large ones is forgotten as soon as one with a large result', () => {
  const recent = new RecentSagas({ window: 1e9, bytes: 100_000 }, clock);
  const error = {
    name: 'Error',
    message: 'm'.repeat(4_000),
    stack: 's'.repeat(8_000),
    cause: { name: 'E', message: 'c'.repeat(4_000) },
  };
  const errors = [{ ...error, attempt: 1, at: '', during: 'step' as const }];
  for (let n = 0; n < 20; n += 1) {
    now = n;
    const steps = new Map([['pay', { ...PENDING, errors }]]);
    recent.claimed({ ...SAGA, id: `${n}`, state: { ...SAGA.state, steps } });
  }
  expect(idsOf(recent)).toEqual(['15', '16', '17', '18', '19']);
});
