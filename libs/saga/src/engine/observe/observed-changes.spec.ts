import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { evolve } from '../../machine/evolve.js';
import { graphOf, sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { INITIAL, type SagaState } from '../../machine/saga-state.js';
import { observedChanges } from './observed-changes.js';
import { SAGA } from '../../../../../test/fixtures/run-of.js';

const RETRY = { attempts: 2, delay: 100, factor: 1, maxDelay: 100, jitter: 0 };
const ONCE = { ...RETRY, attempts: 1 };
const order = sequenceOf(
  stepOf('reserve', { compensate: 'release', retry: ONCE, compensationRetry: ONCE }),
  stepOf('charge', { retry: RETRY }),
);
const error = { name: 'Error', message: 'declined' };
const failed = { error, retryable: true, now: 1_000, random: 0.5 };
const chargeFailed: SagaEvent = {
  type: 'step-failed',
  step: 'charge',
  kind: 'error',
  unknown: false,
  ...failed,
};

const started = (step: string): SagaEvent => ({ type: 'step-started', step });
const completed = (step: string): SagaEvent => ({ type: 'step-completed', step });
const after = (state: SagaState, events: readonly SagaEvent[], graph: SagaGraph = order) =>
  events.reduce((next, event) => evolve(graph, next, event), state);
const RESERVED = after(INITIAL, [started('reserve'), completed('reserve')]);

/** The changes that these events report when stored together, without the fields that every event has. */
function changesOf(before: SagaState, events: readonly SagaEvent[], graph: SagaGraph = order) {
  return observedChanges(SAGA, before, after(before, events, graph), 5).map(
    ({ saga: _, version: __, id: ___, correlationId: ____, tags: _____, at: ______, status, ...event }) => ({
      ...event,
      status,
    }),
  );
}

describe('the reported changes of a saga', () => {
  test('name the saga, when it was stored, and its status', () => {
    const saga = { ...SAGA, name: 'order', version: 2, correlationId: '1234', tags: { shop: 'a' } };
    expect(observedChanges(saga, INITIAL, RESERVED, 5)).toEqual([
      {
        ...{ type: 'step-completed', saga: 'order', version: 2, id: SAGA.id, correlationId: '1234' },
        ...{ tags: { shop: 'a' }, at: new Date(5), status: 'running', step: 'reserve', attempt: 1 },
      },
    ]);
  });

  test('are none if nothing new is stored', () => {
    expect(changesOf(RESERVED, [])).toEqual([]);
    expect(changesOf(RESERVED, [started('charge')])).toEqual([]);
  });

  test('are every step and then the end, if they are stored together', () => {
    const end: SagaEvent = { type: 'settled', status: 'completed' };
    expect(changesOf(RESERVED, [started('charge'), completed('charge'), end])).toEqual([
      { type: 'step-completed', step: 'charge', attempt: 1, status: 'completed' },
      { type: 'completed', status: 'completed' },
    ]);
  });
});

describe('a failed attempt', () => {
  test('is reported with its error and the time of the next attempt', () => {
    expect(changesOf(RESERVED, [started('charge'), chargeFailed])).toEqual([
      { type: 'step-failed', step: 'charge', attempt: 1, error, retryAt: new Date(1_100), status: 'running' },
    ]);
  });

  test('that was the last makes the saga roll back, with the reason', () => {
    const tried = after(RESERVED, [started('charge'), chargeFailed]);
    expect(changesOf(tried, [started('charge'), chargeFailed])).toEqual([
      { type: 'step-failed', step: 'charge', attempt: 2, error, status: 'compensating' },
      { type: 'compensating', failure: { kind: 'error', step: 'charge', error }, status: 'compensating' },
    ]);
  });

  test('of the only step rolls back and ends in one, and both are reported', () => {
    const graph = sequenceOf(stepOf('charge', { retry: ONCE }));
    const end: SagaEvent = { type: 'settled', status: 'compensated' };
    expect(changesOf(INITIAL, [started('charge'), chargeFailed, end], graph).map(({ type }) => type)).toEqual(
      ['step-failed', 'compensating', 'compensated'],
    );
  });
});

describe('a saga that needs an operator', () => {
  const undoing: SagaEvent[] = [
    { type: 'cancelled', reason: 'changed my mind' },
    { type: 'compensation-started', step: 'reserve' },
    { type: 'compensation-failed', step: 'reserve', ...failed },
    { type: 'settled', status: 'stuck' },
  ];
  const stuck = after(RESERVED, undoing);
  const failure = { kind: 'cancelled', reason: 'changed my mind' };

  test('is reported with the steps that failed permanently, the last error, and the cause of the rollback', () => {
    expect(changesOf(RESERVED, undoing)).toEqual([
      { type: 'compensation-failed', step: 'reserve', attempt: 1, error, status: 'stuck' },
      { type: 'compensating', failure, status: 'stuck' },
      { type: 'stuck', steps: ['reserve'], failure, error, status: 'stuck' },
    ]);
  });

  test('and is retried reports the retry, but no second rollback', () => {
    expect(changesOf(stuck, [{ type: 'retried' }])).toEqual([{ type: 'retried', status: 'compensating' }]);
  });

  test('and goes on after a manual action reports that action', () => {
    expect(changesOf(stuck, [{ type: 'operator-resolved', step: 'reserve' }])).toEqual([
      { type: 'resumed', status: 'compensating' },
      { type: 'step-compensated', step: 'reserve', attempt: 1, status: 'compensating' },
    ]);
  });

  test('and is aborted reports the abort', () => {
    expect(changesOf(stuck, [{ type: 'aborted' }])).toEqual([
      { type: 'aborted', failure, status: 'aborted' },
    ]);
  });
});

test('a pause and its end are reported', () => {
  const paused: SagaState = { ...RESERVED, status: 'paused' };
  expect(observedChanges(SAGA, RESERVED, paused, 5)).toMatchObject([{ type: 'paused', status: 'paused' }]);
  expect(observedChanges(SAGA, paused, RESERVED, 5)).toMatchObject([{ type: 'resumed', status: 'running' }]);
});

test('a completed saga that is compensated reports the rollback', () => {
  const end = after(RESERVED, [
    started('charge'),
    completed('charge'),
    { type: 'settled', status: 'completed' },
  ]);
  const undone: SagaEvent = { type: 'undone', reason: 'returned' };
  expect(changesOf(end, [undone])).toMatchObject([{ type: 'compensating', failure: { kind: 'undone' } }]);
});

test('a rollback to a savepoint is reported with the savepoint, and so is the return to forward execution', () => {
  const graph = sequenceOf(
    stepOf('hold', { compensate: 'release', savepoint: { attempts: 2 } }),
    stepOf('charge', { retry: ONCE }),
  );
  const held = after(INITIAL, [started('hold'), completed('hold')], graph);
  const back: SagaEvent[] = [started('charge'), chargeFailed];
  expect(changesOf(held, back, graph)).toMatchObject([
    { type: 'step-failed' },
    { type: 'compensating', savepoint: 'hold' },
  ]);
  expect(changesOf(after(held, back, graph), [{ type: 'resumed' }], graph)).toEqual([
    { type: 'rolled-back', round: 2, status: 'running' },
  ]);
});

test('items of a fan-out are reported by their index, and then the step', () => {
  const graph = sequenceOf(stepOf('ship', { forEach: () => [1] }));
  const events: SagaEvent[] = [
    { type: 'fan-out-started', step: 'ship', items: ['1'] },
    started('ship[0]'),
    completed('ship[0]'),
  ];
  expect(changesOf(INITIAL, events, graph)).toMatchObject([
    { type: 'step-completed', step: 'ship', index: 0 },
    { type: 'step-completed', step: 'ship' },
  ]);
});

test('a wait for a signal or for an operator is reported with its deadline', () => {
  const graph = graphOf(
    stepOf('reply', { kind: 'signal', wait: { signal: 'paid', timeout: 1_000 } }),
    stepOf('large', { kind: 'approval', wait: { signal: 'approval:large' } }),
  );
  const events: SagaEvent[] = ['reply', 'large'].map((step) => ({ type: 'wait-started', step, now: 0 }));
  expect(changesOf(INITIAL, events, graph)).toEqual([
    {
      type: 'step-waiting',
      step: 'reply',
      attempt: 0,
      signal: 'paid',
      until: new Date(1_000),
      status: 'running',
    },
    { type: 'step-waiting', step: 'large', attempt: 0, status: 'running' },
  ]);
});
