import { resolveRetryPolicy } from '../definition/options/retry-policy.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { decide } from './decide.js';
import { evolve } from './evolve.js';
import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import type { EventOf, SagaEvent } from './saga-event.js';
import { ERRORS_KEPT } from './attempt-errors.js';
import { INITIAL, type SagaState, stepState } from './saga-state.js';
import { shortOf, stateOf } from '../../../../test/fixtures/state-of.js';

const ERROR = { name: 'Error', message: 'no' };
const failure = { error: ERROR, retryable: true, now: 0, random: 0 };

const started = (step: string): SagaEvent => ({ type: 'step-started', step });
const completed = (step: string): SagaEvent => ({ type: 'step-completed', step, result: `"${step}"` });
const failed = (step: string, more: Partial<EventOf<'step-failed'>> = {}): SagaEvent => ({
  type: 'step-failed',
  kind: 'error',
  unknown: false,
  step,
  ...failure,
  ...more,
});
const timedOut = (step: string) => failed(step, { kind: 'timeout', unknown: true });
const rejected = (step: string) => failed(step, { kind: 'rejected', retryable: false });
const undoing = (step: string): SagaEvent => ({ type: 'compensation-started', step });
const undone = (step: string): SagaEvent => ({ type: 'compensation-completed', step });
const notUndone = (step: string): SagaEvent => ({
  type: 'compensation-failed',
  step,
  ...failure,
  retryable: false,
});
const takenOver = (count: number, now = 0): SagaEvent => ({ type: 'taken-over', count, bound: 3, now });
const interrupted: SagaEvent = { type: 'interrupted', now: 0 };
const cancelled: SagaEvent = { type: 'cancelled', reason: 'changed my mind' };
const aborted: SagaEvent = { type: 'aborted', reason: 'enough' };
const retried = (step?: string): SagaEvent => ({ type: 'retried', step });
const stuck: SagaEvent = { type: 'settled', status: 'stuck' };

function after(graph: SagaGraph, from: SagaState, ...events: SagaEvent[]): SagaState {
  return events.reduce((state, event) => evolve(graph, state, event), from);
}

/** What comes next, in short. */
function next(graph: SagaGraph, state: SagaState, now = 0): string[] {
  const { actions, settle } = decide(graph, state, now);
  return settle ? [settle] : actions.map(({ kind, node }) => `${kind} ${node.name}`);
}

const SEQUENCE = sequenceOf(stepOf('a'), stepOf('b'), stepOf('c'));

describe('a step that fails', () => {
  it('is tried as often as its policy says, and then the saga rolls back', () => {
    const graph = sequenceOf(
      stepOf('a', { retry: resolveRetryPolicy({ attempts: 3, delay: 100, jitter: 0 }) }),
    );
    const twice = after(graph, INITIAL, started('a'), failed('a'), started('a'), failed('a', { now: 7 }));
    expect(twice.status).toBe('running');
    expect(stepState(twice, 'a')).toMatchObject({
      status: 'waiting',
      attempts: 2,
      failures: 2,
      retryAt: 207,
    });
    const thrice = after(graph, twice, started('a'), failed('a'));
    expect(thrice).toMatchObject({
      status: 'compensating',
      failure: { kind: 'error', step: 'a', error: ERROR },
    });
    expect(next(graph, thrice)).toEqual(['compensated']);
  });

  it.each([
    [failed('b', { retryable: false }), 'error'],
    [rejected('b'), 'rejected'],
    [failed('b', { kind: 'timeout', retryable: false }), 'timeout'],
  ])('for good turns the saga back, and says why (%#)', (event, kind) => {
    const state = after(SEQUENCE, INITIAL, started('a'), completed('a'), started('b'), event);
    expect(state.failure).toEqual({ kind, step: 'b', error: ERROR });
    expect(next(SEQUENCE, state)).toEqual(['compensate a']);
  });

  it('keeps its last errors, each with attempt, time and what was being done', () => {
    const retry = resolveRetryPolicy({ attempts: 100 });
    const graph = sequenceOf(stepOf('a', { retry, compensationRetry: retry }));
    let state = INITIAL;
    for (let now = 1; now <= ERRORS_KEPT + 2; now += 1) {
      state = after(
        graph,
        state,
        started('a'),
        failed('a', { now, error: { ...ERROR, message: `no ${now}` } }),
      );
    }
    expect(stepState(state, 'a').errors).toHaveLength(ERRORS_KEPT);
    expect(stepState(state, 'a').errors.at(-1)).toEqual({
      name: 'Error',
      message: `no ${ERRORS_KEPT + 2}`,
      attempt: ERRORS_KEPT + 2,
      at: '1970-01-01T00:00:00.007Z',
      during: 'step',
    });
    state = after(graph, state, started('a'), completed('a'), cancelled, undoing('a'), notUndone('a'));
    expect(stepState(state, 'a').errors.at(-1)).toMatchObject({ attempt: 1, during: 'compensation' });
  });

  it('with an unknown outcome is compensated, even if a later attempt failed permanently', () => {
    const state = after(SEQUENCE, INITIAL, started('a'), timedOut('a'), started('a'), rejected('a'));
    expect(next(SEQUENCE, state)).toEqual(['compensate a']);
    expect(stepState(state, 'a').result).toBeUndefined();
  });

  it('without our knowing is known again once it completes', () => {
    const state = after(SEQUENCE, INITIAL, started('a'), timedOut('a'), started('a'), completed('a'));
    expect(stepState(state, 'a')).toMatchObject({ status: 'completed', unknown: false, result: '"a"' });
  });
});

describe('an at-most-once step', () => {
  const retry = resolveRetryPolicy({ attempts: 3, delay: 0 });
  const graph = sequenceOf(stepOf('a', { idempotent: false, retry }));

  it('is tried again after a definite failure, if its policy says so', () => {
    expect(next(graph, after(graph, INITIAL, started('a'), failed('a')))).toEqual(['run a']);
  });

  it.each([
    ['it timed out', timedOut('a')],
    ['its worker let go of it', interrupted],
  ])('is never tried again after %s, and is undone', (_, event) => {
    const state = after(graph, INITIAL, started('a'), event);
    expect(state.status).toBe('compensating');
    expect(next(graph, state)).toEqual(['compensate a']);
  });

  it('is never tried again when its recorded start was lost with its worker, and is undone', () => {
    const state = after(graph, stateOf('running', 'a=running'), takenOver(1));
    expect(state).toMatchObject({ status: 'compensating', failure: { step: 'a' } });
    expect(stepState(state, 'a').errors).toMatchObject([{ name: 'StepInterruptedError', attempt: 1 }]);
    expect(next(graph, state)).toEqual(['compensate a']);
  });

  it('whose start was not recorded did not run', () => {
    for (const before of [INITIAL, stateOf('running', 'a=waiting@0')]) {
      expect(after(graph, before, takenOver(1))).toEqual(before);
      expect(next(graph, before)).toEqual(['run a']);
    }
  });

  it.each([
    ['had not been recorded', 'a=running'],
    ['waited for its retry', 'a=running b=waiting@0'],
    ['was recorded as running', 'a=running b=running'],
    ['was recorded first', 'b=running a=running'],
  ])('that is lost does not hide the step beside it, which %s', (_, steps) => {
    const beside = graphOf(stepOf('a', { idempotent: false }), stepOf('b'));
    const state = after(beside, stateOf('running', steps), takenOver(1, 0));
    expect(shortOf(state)).toContain('b=failed?');
    expect(next(beside, state).sort()).toEqual(['compensate a', 'compensate b']);
  });
});

describe('a saga taken over from a lost worker', () => {
  it('repeats steps that may have been in progress, and counts attempts but no failures', () => {
    const lost = after(SEQUENCE, INITIAL, takenOver(2));
    expect(stepState(lost, 'a')).toMatchObject({
      status: 'pending',
      attempts: 2,
      failures: 0,
      unknown: true,
    });
    expect(next(SEQUENCE, lost)).toEqual(['run a']);
  });

  it('finds what a worker was at whose lease was taken, though no loss was counted', () => {
    const lost = after(SEQUENCE, stateOf('compensating', 'a=running'), takenOver(0));
    expect(next(SEQUENCE, lost)).toEqual(['compensate a']);
  });

  it('counts an attempt once that was recorded as it began', () => {
    expect(stepState(after(SEQUENCE, stateOf('running', 'a=running'), takenOver(1)), 'a').attempts).toBe(1);
    expect(stepState(after(SEQUENCE, stateOf('running', 'a=running'), takenOver(2)), 'a').attempts).toBe(2);
  });

  it('suspects no step whose retry is not due', () => {
    const before = stateOf('running', 'a=waiting@100');
    expect(after(SEQUENCE, before, takenOver(1, 99))).toEqual(before);
    expect(stepState(after(SEQUENCE, before, takenOver(1, 100)), 'a').unknown).toBe(true);
  });

  it('knows that a lost transaction did nothing', () => {
    const graph = sequenceOf(stepOf('a', { transactional: true }));
    const lost = after(graph, INITIAL, takenOver(1));
    expect(stepState(lost, 'a')).toMatchObject({ attempts: 1, unknown: false });
    expect(next(graph, after(graph, lost, cancelled))).toEqual(['compensated']);
  });

  it('compensates steps that may have taken effect if it rolls back', () => {
    expect(next(SEQUENCE, after(SEQUENCE, INITIAL, takenOver(1), cancelled))).toEqual(['compensate a']);
  });

  it('compensates again what may have been undone', () => {
    const lost = after(SEQUENCE, stateOf('compensating', 'a=completed b=failed'), takenOver(1));
    expect(stepState(lost, 'a')).toMatchObject({ compensationAttempts: 1, compensationFailures: 0 });
    expect(next(SEQUENCE, lost)).toEqual(['compensate a']);
  });

  it('counts each loss where the losses before it had brought the saga', () => {
    const lost = after(SEQUENCE, stateOf('compensating', 'a=running'), takenOver(3));
    expect(stepState(lost, 'a')).toMatchObject({ attempts: 1, compensationAttempts: 2, unknown: true });
  });

  it('compensates the step that was in progress during its rollback', () => {
    const graph = graphOf(stepOf('a'), stepOf('b'));
    const lost = after(graph, stateOf('compensating', 'a=running b=failed'), takenOver(1));
    expect(shortOf(lost)).toBe('a=failed? b=failed');
    expect(next(graph, lost)).toEqual(['compensate a']);
  });

  it.each(['stuck', 'suspended', 'paused'] as const)('is left as it is when it is %s', (status) => {
    const before = { ...stateOf(status, 'a=completed'), heldPhase: 'running' as const };
    expect(after(SEQUENCE, before, takenOver(9))).toBe(before);
  });
});

describe('a saga that crashes worker after worker', () => {
  it('is stuck even if a lost at-most-once step made it roll back and its compensation then crashed workers', () => {
    const graph = sequenceOf(stepOf('a', { idempotent: false }));
    const state = after(graph, stateOf('running', 'a=running'), takenOver(4));
    expect(state).toMatchObject({ status: 'stuck', heldPhase: 'compensating', failure: { step: 'a' } });
    expect(stepState(state, 'a')).toMatchObject({ attempts: 1, compensationAttempts: 3, unknown: true });
    expect(next(graph, after(graph, state, retried()))).toEqual(['compensate a']);
  });

  const forward = after(SEQUENCE, stateOf('running', 'a=completed'), takenOver(4));
  const back = after(SEQUENCE, stateOf('compensating', 'a=completed b=failed'), takenOver(4));

  it('goes on up to the bound', () => {
    expect(after(SEQUENCE, INITIAL, takenOver(3)).status).toBe('running');
  });

  it('is stuck past the bound, and shows the step that it was at', () => {
    expect(forward).toMatchObject({ status: 'stuck', heldPhase: 'running', failure: { kind: 'error' } });
    expect(stepState(forward, 'b').errors).toMatchObject([
      { name: 'WorkerLostError', attempt: 4, during: 'step' },
    ]);
    expect(back).toMatchObject({ status: 'stuck', heldPhase: 'compensating', failure: { step: 'any' } });
    expect(stepState(back, 'a').errors).toMatchObject([
      { name: 'WorkerLostError', attempt: 4, during: 'compensation' },
    ]);
  });

  it('goes on where it was when it is retried', () => {
    for (const event of [retried(), retried('b')]) {
      const state = after(SEQUENCE, forward, event);
      expect(state).toMatchObject({ status: 'running', heldPhase: undefined, failure: undefined });
      expect(next(SEQUENCE, state)).toEqual(['run b']);
    }
    expect(next(SEQUENCE, after(SEQUENCE, back, retried()))).toEqual(['compensate a']);
  });

  it('goes on after the step that was resolved', () => {
    const state = after(SEQUENCE, forward, { type: 'operator-resolved', step: 'b', result: '7' });
    expect(stepState(state, 'b')).toMatchObject({ status: 'completed', result: '7', unknown: false });
    expect(next(SEQUENCE, state)).toEqual(['run c']);
    expect(next(SEQUENCE, after(SEQUENCE, back, { type: 'operator-resolved', step: 'a' }))).toEqual([
      'compensated',
    ]);
  });

  it('compensates what it may have done when it is cancelled', () => {
    const state = after(SEQUENCE, forward, cancelled);
    expect(state).toMatchObject({ status: 'compensating', failure: { kind: 'cancelled' } });
    expect(next(SEQUENCE, state)).toEqual(['compensate b']);
  });

  it('does nothing more when it is aborted, and keeps why it was stuck', () => {
    const state = after(SEQUENCE, forward, aborted);
    expect(state).toMatchObject({ status: 'aborted', heldPhase: undefined, failure: forward.failure });
    expect(next(SEQUENCE, state)).toEqual([]);
  });
});

describe('a saga with compensations that failed permanently', () => {
  const graph = graphOf(stepOf('a'), stepOf('b', { after: ['a'] }), stepOf('c', { after: ['a'] }));
  const both = after(
    graph,
    stateOf('compensating', 'a=completed b=completed c=completed'),
    ...[undoing('b'), undoing('c'), notUndone('b'), notUndone('c'), stuck],
  );

  it('is stuck, with every error kept', () => {
    expect(both).toMatchObject({ status: 'stuck', heldPhase: 'compensating', failure: { step: 'any' } });
    expect(['b', 'c'].flatMap((step) => stepState(both, step).errors)).toHaveLength(2);
  });

  it('tries them all again with a new budget when it is retried', () => {
    const state = after(graph, both, retried());
    expect(next(graph, state).sort()).toEqual(['compensate b', 'compensate c']);
    expect(stepState(state, 'b')).toMatchObject({ compensationFailures: 0, compensationAttempts: 1 });
    const undoneBoth = after(graph, state, undoing('b'), undone('b'), undoing('c'), undone('c'));
    expect(undoneBoth.failure).toEqual(both.failure);
    expect(next(graph, undoneBoth)).toEqual(['compensate a']);
  });

  it('tries one again when that is asked for, and is stuck by the other', () => {
    const state = after(graph, both, retried('b'));
    expect(next(graph, state)).toEqual(['compensate b']);
    expect(next(graph, after(graph, state, undoing('b'), undone('b')))).toEqual(['stuck']);
  });

  it('can be retried and skipped by a process that does not have its graph', () => {
    const unknown = graphOf();
    for (const event of [retried(), retried('b'), { type: 'operator-resolved', step: 'b' } as const]) {
      expect(after(unknown, both, event)).toEqual(after(graph, both, event));
    }
  });

  it('counts the manually completed compensation as compensated', () => {
    const state = after(graph, both, { type: 'operator-resolved', step: 'b' }, stuck, {
      type: 'operator-resolved',
      step: 'c',
    });
    expect(next(graph, state)).toEqual(['compensate a']);
  });

  it('cannot be cancelled, which it already is, but aborted', () => {
    expect(after(graph, both, cancelled)).toBe(both);
    expect(after(graph, both, aborted).status).toBe('aborted');
  });
});

describe('a saga that is cancelled', () => {
  it('compensates the step in progress once it has completed', () => {
    const state = after(SEQUENCE, INITIAL, started('a'), completed('a'), started('b'), cancelled);
    expect(state.failure).toEqual({ kind: 'cancelled', reason: 'changed my mind' });
    expect(next(SEQUENCE, state)).toEqual([]);
    expect(next(SEQUENCE, after(SEQUENCE, state, completed('b')))).toEqual(['compensate b']);
    expect(next(SEQUENCE, after(SEQUENCE, state, failed('b')))).toEqual(['compensate a']);
    expect(next(SEQUENCE, after(SEQUENCE, state, timedOut('b')))).toEqual(['compensate b']);
  });

  it('keeps the first reason', () => {
    const state = after(SEQUENCE, INITIAL, started('a'), cancelled, { type: 'cancelled', reason: 'again' });
    expect(state.failure).toEqual({ kind: 'cancelled', reason: 'changed my mind' });
    expect(after(SEQUENCE, state, rejected('a')).failure).toEqual(state.failure);
  });
});

describe('a saga settles', () => {
  it('only as is decided', () => {
    for (const status of ['completed', 'compensated', 'stuck'] as const) {
      for (const before of [
        INITIAL,
        stateOf('compensating', 'a=completed'),
        stateOf('running', 'a=waiting@9'),
      ]) {
        expect(after(SEQUENCE, before, { type: 'settled', status })).toBe(before);
      }
    }
    const done = stateOf('running', 'a=completed b=completed c=completed');
    expect(after(SEQUENCE, done, { type: 'settled', status: 'completed' }).status).toBe('completed');
    const back = stateOf('compensating', 'a=compensated b=failed');
    expect(after(SEQUENCE, back, { type: 'settled', status: 'compensated' }).status).toBe('compensated');
  });
});
