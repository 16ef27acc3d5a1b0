import { retryDelay, type ResolvedRetryPolicy } from '../definition/options/retry-policy.js';
import type { SagaFailure } from '../definition/types/saga-failure.js';
import { itemKey, nodeOf, type SagaGraph, stepOfKey } from '../definition/graph/saga-graph.js';
import { isDropped, mayHavePassed, pivotPassed } from './predicates.js';
import { descendantsOf } from './graph-relations.js';
import { passedPivot, undecidedPivot, withoutPending } from './pivots.js';
import { tolerate } from './join-any.js';
import type { EventOf } from './saga-event.js';
import {
  awaitsReply,
  isInProgress,
  isTerminal,
  type SagaState,
  type StepState,
  stepState,
  changeState,
} from './saga-state.js';
import { savepointFor, startTurningBack } from './savepoints.js';
import { withError } from './attempt-errors.js';
import { giveUp, withStep } from './step-changes.js';

/** Only the attempt in progress can settle: what ends late finds its step settled, and changes nothing. */
export function isAttemptInProgress(
  state: SagaState,
  key: string,
  status: 'running' | 'compensating',
): boolean {
  const step = stepState(state, key);
  return step.active && step.status === status;
}

/** The attempt was not made: the step is where it was before, past its delay. */
export function startWithdrawn(
  graph: SagaGraph,
  state: SagaState,
  { step }: EventOf<'start-withdrawn'>,
): SagaState {
  if (!isAttemptInProgress(state, step, 'running')) return state;
  const { attempts } = stepState(state, step);
  const withdrawn = withStep(state, step, { status: 'waiting', attempts: attempts - 1, active: false });
  return goesOn(graph, state, stepOfKey(step)) ? withdrawn : giveUp(withdrawn, step);
}

/** An attempt of a step, or of an item, has failed: it waits for another attempt, or fails permanently. */
export function stepFailed(graph: SagaGraph, state: SagaState, event: EventOf<'step-failed'>): SagaState {
  const { step: key, now } = event;
  if (!isAttemptInProgress(state, key, 'running')) return state;
  const { retry, idempotent } = nodeOf(graph, key);
  const before = stepState(state, key);
  const failures = before.failures + 1;
  const again =
    goesOn(graph, state, stepOfKey(key)) &&
    mayRetry(retry, failures, event.retryable) &&
    (idempotent || !event.unknown);
  const unknown = !event.notDone && (before.unknown || event.unknown);
  if (!again) return failStep(graph, state, key, event, { unknown, retryAt: undefined });
  return withStep(state, key, {
    status: 'waiting',
    failures,
    unknown,
    retryAt: now + nextDelay(retry, failures, event),
    errors: withError(before, event.error, now, 'step'),
    active: false,
  });
}

/** The step, or the item, has failed permanently, by an attempt or without one. */
export function failStep<K extends keyof StepState>(
  graph: SagaGraph,
  state: SagaState,
  key: string,
  { kind, error, now }: Required<Pick<SagaFailure, 'kind' | 'error'>> & { readonly now: number },
  changes?: Pick<StepState, K>,
): SagaState {
  const step = stepState(state, key);
  const next = withStep(state, key, {
    status: 'failed',
    failures: step.failures + 1,
    errors: withError(step, error, now, 'step'),
    active: false,
    ...changes,
  });
  return failPermanently(graph, next, key, { kind, step: key, error });
}

/** Milliseconds until the next attempt: by the policy, or later if the participant asked for it. */
function nextDelay(
  policy: ResolvedRetryPolicy,
  failures: number,
  { random, backoff, retryAfter = 0 }: EventOf<'step-failed' | 'compensation-failed'>,
): number {
  return Math.max(backoff ?? retryDelay(policy, failures, random), retryAfter);
}

export function compensationFailed(
  graph: SagaGraph,
  state: SagaState,
  event: EventOf<'compensation-failed'>,
): SagaState {
  const step = stepState(state, event.step);
  if (!isAttemptInProgress(state, event.step, 'compensating') && !awaitsReply(step)) return state;
  const policy = nodeOf(graph, event.step).compensationRetry;
  const failures = step.compensationFailures + 1;
  const again = mayRetry(policy, failures, event.retryable);
  return withStep(state, event.step, {
    status: again ? 'compensating' : 'compensation_failed',
    compensationFailures: failures,
    retryAt: again ? event.now + nextDelay(policy, failures, event) : undefined,
    errors: withError(step, event.error, event.now, 'compensation'),
    wait: undefined,
    active: false,
  });
}

/**
 * A step, or an item of it, has failed for good. What follows, in this order: nothing, if the saga compensates
 * already, or the step's branch has lost; the saga continues without it, if it is optional; the branch is pruned, if
 * others can stand in for it; back to a savepoint; a halt, behind a pivot or for an operator; all the rollback.
 */
export function failPermanently(
  graph: SagaGraph,
  given: SagaState,
  key: string,
  failure: SagaFailure,
): SagaState {
  const name = stepOfKey(key);
  let state = given;
  if (key !== name) state = withStep(state, name, { status: 'failed', retryAt: undefined });
  if (!goesOn(graph, state, name) || isPendingFor(graph, state, name)) return state;
  if (nodeOf(graph, name).optional) return continueWithout(state, name);
  const tolerated = tolerate(graph, state, name);
  if (tolerated) return tolerated;
  const savepoint = savepointFor(graph, state, name);
  const rollbackTo = state.pendingRollback?.rollbackTo ?? state.rollbackTo;
  if (savepoint !== undefined) {
    // Already on the way to another: the earlier one of a line, or all the way.
    const isEarlier = rollbackTo === undefined || descendantsOf(graph, savepoint).has(rollbackTo);
    if (isEarlier) return startTurningBack(graph, state, failure, savepoint);
  }
  const halts =
    pivotPassed(graph, state) ||
    mayHavePassed(nodeOf(graph, name), stepState(state, name)) ||
    (graph.onFailure === 'suspend' && savepoint === undefined);
  if (!halts) return startTurningBack(graph, state, failure);
  return changeState(state, { failure });
}

/** An optional step has failed. Items that have not begun never will; those in progress settle, and are undone. */
function continueWithout(state: SagaState, name: string): SagaState {
  const { items = [] } = stepState(state, name);
  const next = items.reduce<SagaState>((known, _, index) => giveUp(known, itemKey(name, index)), state);
  return withStep(next, name, { continued: true });
}

/** Is this step's branch still on its way forward, so that its failure matters? */
export function goesOn(graph: SagaGraph, state: SagaState, name: string): boolean {
  if (isDropped(stepState(state, name))) return false;
  if (state.status === 'running') return true;
  const { rollbackTo } = state;
  return (
    state.status === 'compensating' && rollbackTo !== undefined && !descendantsOf(graph, rollbackTo).has(name)
  );
}

/** A rollback that would concern this step waits for a pivot: what its failure leads to is decided then. */
function isPendingFor(graph: SagaGraph, { pendingRollback }: SagaState, name: string): boolean {
  if (pendingRollback === undefined) return false;
  const { rollbackTo } = pendingRollback;
  return rollbackTo === undefined || descendantsOf(graph, rollbackTo).has(name);
}

/**
 * Once the outcome of the pivots is known that a rollback has waited for, it begins, or is dropped for good. What has
 * failed meanwhile then leads to what it would have led to.
 */
export function decidePending(graph: SagaGraph, state: SagaState): SagaState {
  const { pendingRollback, status } = state;
  if (pendingRollback === undefined) return state;
  if (isTerminal(status)) return withoutPending(state);
  const { failure, rollbackTo } = pendingRollback;
  const passed = passedPivot(graph, state, rollbackTo);
  if (passed !== undefined) {
    const isFailure = failure.kind !== 'cancelled' && failure.step !== undefined;
    const next = isFailure ? state : overtaken(state, failure, passed);
    return withFailures(graph, withoutPending(next), failure);
  }
  if (undecidedPivot(graph, state, rollbackTo) !== undefined) return state;
  // One that needs an operator, or is paused: once it goes on.
  if (!isInProgress(status)) return state;
  const next = withoutPending(state);
  return rollbackTo === undefined
    ? startTurningBack(graph, next, failure)
    : withFailures(graph, next, failure);
}

/** A rollback was called for, and this pivot has completed: the saga only goes forward. */
export function overtaken(state: SagaState, { kind, reason }: SagaFailure, step: string): SagaState {
  // A request is found again by each worker that takes the saga over.
  if (state.overtaken?.kind === kind && state.overtaken.step === step) return state;
  return changeState(state, { overtaken: { kind, step, ...(reason !== undefined && { reason }) } });
}

/** @param cause what the rollback was called for */
function withFailures(graph: SagaGraph, state: SagaState, cause: SagaFailure): SagaState {
  let next = state;
  for (const { name } of graph.steps.values()) {
    const { status, errors, items = [] } = stepState(next, name);
    if (status !== 'failed' || !goesOn(graph, next, name)) continue;
    const isCause = cause.step !== undefined && stepOfKey(cause.step) === name;
    const key = items.map((_, index) => itemKey(name, index)).find((item) => isFailed(next, item)) ?? name;
    const error = (key === name ? errors : stepState(next, key).errors).at(-1);
    next = failPermanently(graph, next, name, isCause ? cause : { kind: 'error', step: key, error });
  }
  return next;
}

function isFailed(state: SagaState, key: string): boolean {
  return stepState(state, key).status === 'failed';
}

export function mayRetry(policy: ResolvedRetryPolicy, failures: number, retryable: boolean): boolean {
  return retryable && failures < policy.attempts;
}
