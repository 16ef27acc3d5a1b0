import { graphOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { evolve } from './evolve.js';
import { hasAdvanced } from './lost-workers.js';
import { INITIAL, PENDING, type SagaState, type StepState } from './saga-state.js';

const sagaOf = (step: Partial<StepState>, saga: Partial<SagaState> = {}): SagaState => ({
  ...INITIAL,
  ...saga,
  steps: new Map([['charge', { ...PENDING, ...step }]]),
});
const advances = (before: Partial<StepState>, after: Partial<StepState>) =>
  hasAdvanced(sagaOf(before), sagaOf(after), ['charge']);

describe('a saga whose workers are lost, one after the other, has come further', () => {
  test.each([
    ['a step ended', { status: 'running' }, { status: 'completed' }],
    ['an attempt failed', { status: 'running' }, { status: 'waiting', failures: 1 }],
    ['a step was undone', { status: 'compensating' }, { status: 'compensated' }],
    [
      'an attempt to undo one failed',
      { status: 'compensating' },
      { status: 'compensating', compensationFailures: 1 },
    ],
    ['it waits for a signal', { status: 'pending' }, { status: 'waiting', wait: { signal: 'reply' } }],
  ] satisfies [string, Partial<StepState>, Partial<StepState>][])('when %s', (_, before, after) => {
    expect(advances(before, after)).toBe(true);
  });

  test('when it started to roll back, or restarted at a savepoint', () => {
    const [step, keys] = [{ status: 'running' } as const, ['charge']];
    expect(hasAdvanced(sagaOf(step), sagaOf(step, { status: 'compensating' }), keys)).toBe(true);
    expect(hasAdvanced(sagaOf(step), sagaOf(step, { round: 2 }), keys)).toBe(true);
  });

  test.each([
    ['an attempt was lost', { status: 'pending' }, { status: 'pending', attempts: 4, unknown: true }],
    ['an attempt came to nothing', { status: 'running', attempts: 4 }, { status: 'pending', attempts: 4 }],
    ['a step is put off', { status: 'pending' }, { status: 'waiting', retryAt: 1 }],
  ] satisfies [string, Partial<StepState>, Partial<StepState>][])('and not when %s', (_, before, after) => {
    expect(advances(before, after)).toBe(false);
  });
});

describe('a worker that was lost before the clock was set back', () => {
  /** By the clock of then. Now it shows 1,000. */
  const lease = { worker: 'w', from: 60_000, until: 90_000, takenOver: 1_000 };
  const taken = { type: 'taken-over', count: 1, bound: 3, leases: [lease], now: 1_000 } as const;
  const after = (retryAt: number) =>
    evolve(
      graphOf(stepOf('charge')),
      sagaOf({ status: 'waiting', attempts: 1, failures: 1, retryAt }),
      taken,
    ).steps.get('charge');

  test('may have begun what was due while it had its lease', () => {
    expect(after(70_000)).toMatchObject({ status: 'pending', attempts: 2, unknown: true });
  });

  test('has begun nothing that was due later', () => {
    expect(after(90_001)).toMatchObject({ status: 'waiting', attempts: 1, unknown: false });
  });
});
