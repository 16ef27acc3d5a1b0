import { type SagaGraph, sagaLabel, startsSaga, stepOfKey } from '../../definition/graph/saga-graph.js';
import { SagaStateError } from '../../errors.js';
import { decide, dueWhenLost } from '../../machine/decide.js';
import { isDropped, isUndecided, pivotPassed } from '../../machine/predicates.js';
import { barredPivots, isPartlyCompensated } from '../../machine/pivots.js';
import { FAILED, KIND } from '../../machine/step-kinds.js';
import { stepsOfKinds } from '../../machine/step-map.js';
import { relationsOf } from '../../machine/graph-relations.js';
import {
  isInProgress,
  isSettled,
  isTerminal,
  needsOperator,
  type StepState,
  stepState,
} from '../../machine/saga-state.js';
import { graphUnknownHere } from '../ports/handler-calls.js';
import { doesNotFit, edited, type OperatorEdit, withPendingSignals } from './edited.js';
import { checkUnbegun } from './check-unbegun.js';
import type { StoredSaga } from '../ports/stored-saga.js';

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
  throw new SagaStateError(
    `Saga ${saga.id} (${saga.name}) cannot be cancelled now: the outcome of its pivot '${pivot}' is not known ` +
      `yet. If it completes, the saga only goes forward; if it fails, the saga can be cancelled. Repeat the call then, or pause ` +
      `the saga first.`,
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
  if (isTerminal(status) || heldPhase === 'compensating') throw doesNotFit('cancelled', saga);
  if (graph && pivotPassed(graph, saga.state)) {
    throw new SagaStateError(
      `Saga ${saga.id} (${saga.name}) cannot be cancelled: it has passed its pivot, and only goes forward.`,
    );
  }
  // Also of a worker whose lease ran out: what it was doing must be found to be unknown before anything is undone.
  if (saga.lockedBy !== undefined) return { requestCancel: { reason } };
  const known = graph ?? graphUnknownHere(saga);
  if (!known && mayHaveActed(saga)) {
    throw new SagaStateError(
      `Saga ${saga.id} cannot be cancelled here: this process does not have ${sagaLabel(saga)}, and therefore cannot determine ` +
        `whether it has passed a pivot. Cancel it in a process that has it.`,
    );
  }
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
  if (isTerminal(saga.state.status)) throw doesNotFit('aborted', saga);
  return edited(saga, graph, now, { type: 'aborted', reason });
};

/** Lets it stand still where it is. While a worker holds it, it is asked to: what is in progress settles first. */
export const pauseEdit: OperatorEdit<object | void> = (saga, graph, now) => {
  const { status } = saga.state;
  if (status === 'paused' || saga.pauseRequested) return undefined; // it is, or will be
  if (isSettled(status)) throw doesNotFit('paused', saga);
  // Also of a worker whose lease ran out: what it was doing is found out by who takes it over.
  if (saga.lockedBy !== undefined) return { requestPause: true };
  return edited(saga, graph, now, { type: 'paused' });
};

/** Lets a paused saga go on where it is. */
export const resumeEdit: OperatorEdit<object | void> = (saga, graph, now) => {
  const { status } = saga.state;
  if (status === 'paused') return edited(saga, graph, now, { type: 'unpaused' });
  if (saga.pauseRequested && !isSettled(status)) {
    throw new SagaStateError(
      `Saga ${saga.id} (${saga.name}) cannot be resumed yet: its running steps have not ended. ` +
        `Repeat the call when they have ended and its status is paused.`,
    );
  }
  throw doesNotFit('resumed', saga);
};

/** Undoes a saga that completed, by its own compensations. */
export const undoEdit: OperatorEdit<{ reason?: string }> = (saga, graph, now, { reason }) => {
  const { status, heldPhase, failure } = saga.state;
  const rollsBack = status === 'compensated' || status === 'compensating' || heldPhase === 'compensating';
  if (rollsBack && failure?.kind === 'undone') return undefined; // on its way, or done
  if (status !== 'completed') throw doesNotFit('undone', saga);
  if (!graph) {
    throw new SagaStateError(
      `Saga ${saga.id} cannot be undone here: this process does not have ${sagaLabel(saga)}, and therefore cannot determine whether ` +
        `it has passed a pivot. Undo it in a process that has it.`,
    );
  }
  if (pivotPassed(graph, saga.state)) {
    throw new SagaStateError(
      `Saga ${saga.id} (${saga.name}) cannot be undone: it has passed its pivot, and nothing is compensated after a pivot.`,
    );
  }
  return edited(saga, graph, now, { type: 'undone', reason });
};

/** Tries again what failed permanently, with a full budget of attempts. */
export const retryEdit: OperatorEdit<{ step?: string }> = (saga, graph, now, { step }) => {
  if (!needsOperator(saga.state.status)) throw doesNotFit('retried', saga);
  if (step !== undefined && !permanentlyFailed(saga, graph).includes(step)) {
    throw stepDoesNotFit('retried', step, saga, permanentlyFailed(saga, graph));
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
  throw new SagaStateError(
    `Saga ${saga.id} (${saga.name}) cannot be retried: the pivot '${barred[0]}' would lead forward, but another step was ` +
      `skipped as compensated. Skip '${barred[0]}' as well to roll back, or abort the saga.`,
  );
}

/** Takes a step that failed permanently (or its compensation, if the saga compensates) as done manually. */
export const skipEdit: OperatorEdit<{ step: string; result?: string }> = (
  saga,
  graph,
  now,
  { step, result },
) => {
  if (!needsOperator(saga.state.status)) throw doesNotFit('skipped', saga);
  const steps = permanentlyFailed(saga, graph);
  if (!steps.includes(step)) throw stepDoesNotFit('skipped', step, saga, steps);
  return edited(saga, graph, now, { type: 'operator-skipped', step, result });
};

/** The steps, or items, that a saga which needs attention stands at: what an operator may retry or skip. */
export function permanentlyFailed(
  { state }: Pick<StoredSaga, 'state'>,
  graph: SagaGraph | undefined,
): string[] {
  const resumed = state.heldPhase ?? 'running';
  const failed = [...stepsOfKinds(state.steps, FAILED | KIND.compensationFailed)]
    .filter(([key, step]) => {
      const isForward = resumed === 'running' && !isDropped(stepState(state, stepOfKey(key)));
      return step.status === 'compensation_failed' || (isForward && isFailed(step));
    })
    .map(([key]) => key);
  if (failed.length > 0 || !graph) return failed;
  // It lost its workers: what it would go on with.
  return decide(graph, { ...state, status: resumed }, Infinity).actions.map(({ key }) => key);
}

/** For a fan-out its items count, unless it failed before it had any. */
function isFailed({ status, items }: StepState): boolean {
  return status === 'failed' && items === undefined;
}

function stepDoesNotFit(
  call: string,
  step: string,
  { id, state }: StoredSaga,
  steps: string[],
): SagaStateError {
  return new SagaStateError(
    `Step '${step}' of saga ${id} cannot be ${call}: it is ${stepState(state, step).status}. ` +
      `The saga is stuck at: ${[...new Set(steps)].join(', ') || 'no step'}.`,
  );
}
