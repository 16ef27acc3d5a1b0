import { type SagaGraph, startsSaga, stepOfKey } from '../../definition/graph/saga-graph.js';
import type { SagaStateError } from '../../errors.js';
import { decide, dueWhenLost } from '../../machine/decide.js';
import { isDropped, isUndecided, pivotPassed } from '../../machine/predicates.js';
import { barredPivots, isPartlyCompensated } from '../../machine/pivots.js';
import { FAILED, KIND } from '../../machine/data/step-kinds.js';
import { stepsOfKinds } from '../../machine/data/step-map.js';
import { relationsOf } from '../../machine/graph-relations.js';
import {
  isInProgress,
  isSettled,
  isTerminal,
  needsOperator,
  type StepState,
  stepState,
  awaitsChild,
  awaitsSlot,
} from '../../machine/saga-state.js';
import { graphUnknownHere } from '../ports/handler-calls.js';
import { edited, type OperatorEdit, withPendingSignals } from './edit-by-events.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { graphMissing, refusedCall, refusedStep } from './refusals.js';
import { hasBegun } from '../../machine/missing-code.js';
import { rescheduleable, timedWaitOf } from '../../machine/reschedule.js';
import { liveState } from '../ports/live-state.js';
import { startTimeOf } from '../../machine/turn.js';
import {
  attemptsOf,
  checkIdle,
  checkNoResult,
  inProgress,
  resolveOpenEdit,
  resolvedWith,
  type WayOut,
} from './way-out-edits.js';

/**
 * Stops and compensates. While a worker holds the saga, it is asked to: what is in progress settles first. Refused while
 * the outcome of a pivot is not known: who calls can ask again. `unlessBegun`: refused once this step has begun, or may have.
 */
export const cancelEdit: OperatorEdit<{ reason?: string; unlessBegun?: string }> = (
  saga,
  graph,
  now,
  { unlessBegun, ...options },
) => {
  if (unlessBegun !== undefined) checkUnbegun(saga, graph, now, unlessBegun);
  const edit = requestCancelEdit(saga, graph, now, options);
  if (edit === undefined && saga.state.pendingRollback === undefined) return undefined;
  const pivot = graph && undecidedPivotOf(saga, graph, now);
  if (pivot === undefined) return edit;
  throw refusedCall(
    'cancelled now',
    saga,
    `the outcome of its pivot '${pivot}' is not known yet. If it completes, the saga only goes forward; if it fails, the ` +
      `saga can be cancelled. Repeat the call then, or pause the saga first`,
  );
};

/**
 * Cancels a saga whose parent is cancelled or does not need it any more. The parent asks once, so the request is
 * accepted even while the outcome of a pivot is not known. That outcome decides.
 */
export const requestCancelEdit: OperatorEdit<{ reason?: string }> = (saga, graph, now, { reason }) => {
  const { status, heldPhase, rollbackTo, pendingRollback } = saga.state;
  const isFull = (to: { rollbackTo?: string } | undefined) => to !== undefined && to.rollbackTo === undefined;
  const isOnItsWay = status === 'compensating' ? rollbackTo === undefined : status === 'running';
  if (isOnItsWay && (status === 'compensating' || isFull(pendingRollback))) return undefined;
  if (isTerminal(status) || heldPhase === 'compensating') throw refusedCall('cancelled', saga);
  if (graph && pivotPassed(graph, saga.state))
    throw refusedCall('cancelled', saga, 'it has passed its pivot, and only goes forward');
  // Also of a worker whose lease ran out: what it was doing must be found to be unknown before anything is undone.
  if (saga.lockedBy !== undefined) return { requestCancel: { reason } };
  const known = graph ?? graphUnknownHere(saga);
  if (!known && mayHaveActed(saga))
    throw refusedCall('cancelled here', saga, graphMissing(saga, 'whether it has passed a pivot'));
  return edited(saga, known, now, { type: 'cancelled', reason, now });
};

function mayHaveActed({ state }: StoredSaga): boolean {
  return [...state.steps.values()].some(({ status, unknown }) => status === 'completed' || unknown);
}

/**
 * The pivot whose outcome is not known: an attempt may be in progress, or have taken effect. Not one that waits for its
 * sub-saga, which is asked to roll back; nor one of a saga that is idle, whose operator decides.
 */
function undecidedPivotOf(saga: StoredSaga, graph: SagaGraph, now: number): string | undefined {
  const { pivots } = relationsOf(graph);
  const { status } = saga.state;
  if (pivots.length === 0 || !isInProgress(status)) return undefined;
  const state = withPendingSignals(graph, saga.state, saga, now);
  const isKnown = (name: string) => {
    const [node, step] = [graph.steps.get(name)!, stepState(state, name)];
    return startsSaga(node) || !isUndecided(node, step);
  };
  const recorded = pivots.find((name) => !isKnown(name));
  if (recorded !== undefined || saga.lockedBy === undefined) return recorded;
  // That an attempt is in progress is not stored: its worker may have begun all that is due.
  return dueWhenLost(graph, state, now).find(
    ({ kind, node }) => kind === 'run' && node.pivot && !startsSaga(node),
  )?.key;
}

/** Stops at once and compensates nothing; a worker that holds the saga is fenced off. */
export const abortEdit: OperatorEdit<{ reason?: string }> = (saga, graph, now, { reason }) => {
  if (saga.state.status === 'aborted') return undefined; // an answer that was lost
  if (isTerminal(saga.state.status)) throw refusedCall('aborted', saga);
  return edited(saga, graph, now, { type: 'aborted', reason });
};

/** Lets it stand still where it is. While a worker holds it, it is asked to: what is in progress settles first. */
export const pauseEdit: OperatorEdit<object | void> = (saga, graph, now) => {
  const { status } = saga.state;
  if (status === 'paused' || saga.pauseRequested) return undefined; // it is, or will be
  if (isSettled(status)) throw refusedCall('paused', saga);
  // Also of a worker whose lease ran out: what it was doing is found out by who takes it over.
  if (saga.lockedBy !== undefined) return { requestPause: true };
  return edited(saga, graph, now, { type: 'paused' });
};

/** Lets a paused saga go on where it is. */
export const resumeEdit: OperatorEdit<object | void> = (saga, graph, now) => {
  const { status } = saga.state;
  if (status === 'paused') return edited(saga, graph, now, { type: 'unpaused' });
  if (!saga.pauseRequested || isSettled(status)) throw refusedCall('resumed', saga);
  const why =
    'its running steps have not ended. Repeat the call when they have ended and its status is paused';
  throw refusedCall('resumed yet', saga, why);
};

/** Undoes a saga that completed, by its own compensations. */
export const undoEdit: OperatorEdit<{ reason?: string }> = (saga, graph, now, { reason }) => {
  const { status, heldPhase, failure } = saga.state;
  const rollsBack = status === 'compensated' || status === 'compensating' || heldPhase === 'compensating';
  if (rollsBack && failure?.kind === 'undone') return undefined; // on its way, or done
  if (status !== 'completed') throw refusedCall('undone', saga);
  if (!graph) throw refusedCall('undone here', saga, graphMissing(saga, 'whether it has passed a pivot'));
  if (pivotPassed(graph, saga.state))
    throw refusedCall('undone', saga, 'it has passed its pivot, and nothing is compensated after a pivot');
  return edited(saga, graph, now, { type: 'undone', reason });
};

/**
 * Tries again what failed permanently, with a full budget of attempts: of a saga that is in progress, the compensations of
 * steps that it continues without.
 */
export const retryEdit: OperatorEdit<{ step?: string; input?: string }> = (
  saga,
  graph,
  now,
  { step, input },
) => {
  const { status } = saga.state;
  const goesOn = isInProgress(status);
  const failed = permanentlyFailed(saga, graph);
  if (!needsOperator(status) && failed.length === 0) throw refusedCall('retried', saga);
  if (step !== undefined && !failed.includes(step)) throw notFailed('retried', step, saga, failed);
  if (goesOn) {
    if (input !== undefined) throw refusedCall('retried with another input', saga);
    checkIdle('retried', saga, graph, now);
    const again = step === undefined ? failed : [step];
    return edited(saga, graph, now, ...again.map((key) => ({ type: 'retried', step: key }) as const));
  }
  checkDirection(saga, graph, step);
  return edited(saga, graph, now, { type: 'retried', step });
};

/** A pivot in doubt leads forward when it is retried, which nothing that was compensated can. */
function checkDirection(saga: StoredSaga, graph: SagaGraph | undefined, step: string | undefined): void {
  if (!graph || !isPartlyCompensated(saga.state)) return;
  const barred = barredPivots(graph, saga.state);
  const asked = step === undefined ? permanentlyFailed(saga, graph) : [step];
  if (asked.length === 0 || !asked.every((name) => barred.includes(name))) return;
  throw refusedCall(
    'retried',
    saga,
    `the pivot '${barred[0]}' would lead forward, but another step was resolved as compensated. Resolve '${barred[0]}' as ` +
      `well to roll back, or abort the saga`,
  );
}

/**
 * A step is done elsewhere, with this result; or its compensation is, if the saga compensates. Of a saga that needs an operator,
 * what failed permanently; of one that runs or compensates, what is in progress, waits or is next, and failed compensations.
 */
export const resolveEdit: OperatorEdit<WayOut & { result?: string }> = (saga, graph, now, given) => {
  if (!needsOperator(saga.state.status)) return resolveOpenEdit(saga, graph, now, given);
  const { step, result } = given;
  const steps = permanentlyFailed(saga, graph);
  if (!steps.includes(step)) throw notFailed('resolved', step, saga, steps);
  if (resolvesCompensation(saga, step)) {
    checkNoResult(step, result);
    return edited(saga, graph, now, { type: 'operator-resolved', step });
  }
  const event = {
    type: 'operator-resolved',
    step,
    ...resolvedWith(graph, saga.state, step, result),
  } as const;
  return edited(saga, graph, now, event);
};

/** What an operator resolves of a step is its compensation. */
export function resolvesCompensation({ state }: Pick<StoredSaga, 'state'>, key: string): boolean {
  const { status, heldPhase = status } = state;
  return heldPhase === 'compensating' || stepState(state, key).status === 'compensation_failed';
}

/**
 * The steps, or items, that a saga which needs attention stands at: what an operator may retry or resolve. Of one that is in
 * progress, those whose compensation failed permanently.
 */
export function permanentlyFailed(
  { state }: Pick<StoredSaga, 'state'>,
  graph: SagaGraph | undefined,
): string[] {
  const goesOn = isInProgress(state.status);
  if (!goesOn && !needsOperator(state.status)) return [];
  const resumed = goesOn ? undefined : (state.heldPhase ?? 'running');
  const failed = [...stepsOfKinds(state.steps, FAILED | KIND.compensationFailed)]
    .filter(([key, step]) => {
      const isForward = resumed === 'running' && !isDropped(stepState(state, stepOfKey(key)));
      return step.status === 'compensation_failed' || (isForward && isFailed(step));
    })
    .map(([key]) => key);
  if (failed.length > 0 || !graph || !resumed) return failed;
  // It lost its workers: what it would go on with.
  const { actions } = decide(graph, { ...state, status: resumed }, Infinity);
  return [...new Set(actions.map(({ key }) => key))];
}

/** For a fan-out its items count, unless it failed before it had any. */
function isFailed({ status, items }: StepState): boolean {
  return status === 'failed' && items === undefined;
}

function notFailed(call: string, step: string, saga: StoredSaga, steps: string[]): SagaStateError {
  const { status } = stepState(saga.state, step);
  const stuckAt = steps.join(', ') || 'no step';
  const at = needsOperator(saga.state.status) ? 'The saga is stuck at' : 'It has failed to compensate';
  return refusedStep(call, step, saga, `it is ${status}. ${at}: ${stuckAt}`);
}

/**
 * Refuses a cancellation once this step has begun, or may have. A worker that holds the saga may have begun all that is
 * due, and begins what is due until it renews its lease, and learns of the cancellation. A step that was skipped, or is to
 * happen again after a return to a savepoint, has not begun.
 * @throws SagaStateError if the step has begun, or may have
 */
function checkUnbegun(saga: StoredSaga, graph: SagaGraph | undefined, now: number, step: string): void {
  const { state } = saga;
  // What has ended is refused by the cancellation itself.
  if (isTerminal(state.status)) return;
  if (!graph)
    throw refusedCall('cancelled here', saga, graphMissing(saga, `whether its step '${step}' has begun`));
  const recorded = stepState(state, step);
  const isSkipped = recorded.status === 'skipped';
  if (!isSkipped && hasBegun(recorded))
    throw refusedCall('cancelled', saga, `its step '${step}' has begun, and is ${recorded.status}`);
  if (saga.lockedBy === undefined) return;
  const until = Math.max(now, saga.dueAt ?? now);
  const mayRun = dueWhenLost(graph, withPendingSignals(graph, state, saga, now), until);
  if (mayRun.some(({ kind, node }) => kind === 'run' && node.name === step))
    throw refusedCall('cancelled', saga, `a worker runs it, and may have begun its step '${step}'`);
}

/** Moves the end of a delay, of a wait, or of the time before the next attempt; `at`: not before now. */
export const rescheduleEdit: OperatorEdit<{ step: string; at: (now: number) => number }> = (
  saga,
  graph,
  now,
  { step, at },
) => {
  const { status } = saga.state;
  if (!isInProgress(status) && status !== 'paused') throw refusedCall('rescheduled', saga);
  const busy = graph && saga.lockedBy !== undefined ? attemptsOf(liveState(saga, graph, now)) : [];
  if (busy.includes(step) || timedWaitOf(saga.state, step) === undefined)
    throw notWaiting(saga, step, busy.includes(step), now);
  // Its worker would lose the lease, and those with it.
  if (busy.length > 0) throw refusedStep('rescheduled now', step, saga, inProgress(busy));
  return edited(saga, graph, now, { type: 'rescheduled', step, at: Math.max(now, at(now)) });
};

function notWaiting(saga: StoredSaga, step: string, isBusy: boolean, now: number): SagaStateError {
  const { state } = saga;
  const known = stepState(state, step);
  const startsAt = startTimeOf(state, now);
  if (startsAt !== undefined && known.status === 'pending') {
    const why =
      `its saga starts at ${new Date(startsAt).toISOString()}, and until then it waits for no time. To start at another ` +
      `time, cancel the saga and start it again`;
    return refusedStep('rescheduled', step, saga, why);
  }
  const does = isBusy
    ? 'an attempt is in progress'
    : awaitsChild(known)
      ? `it waits for saga ${known.child!.id}`
      : known.permit !== undefined
        ? 'it waits for its rate limit'
        : awaitsSlot(known)
          ? 'it waits for a slot of its limit'
          : `it is ${known.status}`;
  const others = rescheduleable(state).filter((other) => other !== step);
  const couldBe = `It could be: ${others.join(', ') || 'no step'}`;
  return refusedStep('rescheduled', step, saga, `${does}, and waits for no time. ${couldBe}`);
}
