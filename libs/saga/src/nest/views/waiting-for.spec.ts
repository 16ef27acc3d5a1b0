import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { PENDING } from '../../machine/saga-state.js';
import { waitingFor } from './waiting-for.js';

const PERMIT = 1_795_625_561_132.691;

test.each([
  ['as it was granted', PERMIT],
  ['as the database rounds it', PERMIT - 0.000_24],
])('a step waits for its rate limit until the time of its permit, %s', (_, retryAt) => {
  const step = { ...PENDING, status: 'waiting', retryAt, permit: PERMIT, limitKey: 'acme' } as const;
  const saga = { ...SAGA, state: { ...SAGA.state, steps: new Map([['pay', step]]) }, dueAt: retryAt };
  expect(waitingFor(saga, { graph: undefined, now: 1 })).toEqual({
    ...{ kind: 'rate-limit', step: 'pay', key: 'acme' },
    until: new Date(PERMIT),
  });
});

test('a step that failed after its permit waits for its next attempt', () => {
  const step = {
    ...PENDING,
    status: 'waiting',
    attempts: 1,
    permit: PERMIT,
    retryAt: PERMIT + 1_000,
  } as const;
  const saga = { ...SAGA, state: { ...SAGA.state, steps: new Map([['pay', step]]) }, dueAt: step.retryAt };
  expect(waitingFor(saga, { graph: undefined, now: 1 })).toMatchObject({ kind: 'retry', step: 'pay' });
});

test('a saga waits for its start time before it waits for its lock, or for a worker', () => {
  const state = { ...SAGA.state, startsAt: 5_000 };
  const lock = { key: 'k', held: false, holder: 'other' };
  const saga = { ...SAGA, state, lock, dueAt: 1_000 };
  const around = { graph: undefined, now: 4_999 };
  expect(waitingFor(saga, around)).toEqual({ kind: 'delay', until: new Date(5_000) });
  expect(waitingFor(saga, { ...around, now: 5_000 })).toEqual({ kind: 'lock', key: 'k', holder: 'other' });
});
