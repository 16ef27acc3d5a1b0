import { nodeOf, type SagaGraph } from '../definition/graph/saga-graph.js';
import { failStep, goesOn, isAttemptInProgress } from './failures.js';
import type { EventOf } from './saga-event.js';
import {
  awaitsChild,
  type ChildState,
  isInProgress,
  type SagaState,
  type StepState,
  stepState,
} from './saga-state.js';
import { KIND, TIMED } from './data/step-kinds.js';
import { ownStepsOfKinds } from './data/step-map.js';
import { withError } from './attempt-errors.js';
import { withStep } from './step-changes.js';
import { compensated, completed } from './step-endings.js';

/** The method of a sub-saga step gave the input: the saga is stored with this state, and is waited for. */
export function childStarted(
  graph: SagaGraph,
  state: SagaState,
  { step: key, child }: EventOf<'child-started'>,
): SagaState {
  if (!isAttemptInProgress(state, key, 'running')) return state;
  // What would have to be compensated at once does not begin.
  if (!goesOn(graph, state, key)) {
    return withStep(state, key, { status: 'failed', active: false });
  }
  return withPhase(state, key, { id: child, phase: 'running' }, 'waiting');
}

/** The saga of a step was asked to compensate, or to undo itself; it takes its time. */
export function childAsked(
  state: SagaState,
  { step: key, child }: EventOf<'child-cancelling' | 'child-undoing'>,
  phase: 'cancelling' | 'undoing',
): SagaState {
  const step = stepState(state, key);
  if (step.child?.id !== child) return state;
  const fits =
    phase === 'cancelling'
      ? awaitsChild(step) && step.child.phase === 'running'
      : isAttemptInProgress(state, key, 'compensating') && step.child.phase === 'ended';
  return fits ? withPhase(state, key, { ...step.child, phase }, step.status) : state;
}

/**
 * The outcome of the saga is the outcome of the step. If it arrives while an operator is needed, it is used once the
 * saga continues.
 */
export function childEnded(graph: SagaGraph, state: SagaState, event: EventOf<'child-ended'>): SagaState {
  const { step: key, status } = event;
  const step = stepState(state, key);
  if (!isInProgress(state.status) || !awaitsChild(step) || step.child!.id !== event.child) return state;
  if (step.status === 'compensating') return childUndone(graph, state, event);
  const phase = status === 'completed' ? 'ended' : 'failed';
  const ended = withPhase(state, key, { ...step.child!, phase }, step.status);
  if (status === 'completed') return completed(graph, ended, key, event.result);
  const { kind = 'error', now } = event;
  return failStep(graph, ended, key, { kind, error: errorOf(event), now });
}

/** The step's own compensation, if it has one, comes after its saga's. */
function childUndone(graph: SagaGraph, state: SagaState, event: EventOf<'child-ended'>): SagaState {
  const { step: key, status } = event;
  const step = stepState(state, key);
  const { child } = step;
  if (status === 'completed') return state;
  if (status === 'compensated') {
    const undone = withPhase(state, key, { ...child!, phase: 'undone' }, 'compensating');
    if (nodeOf(graph, key).compensate === undefined) return compensated(graph, undone, key);
    // What was asked of its saga was no attempt of the step's own compensation.
    return withStep(undone, key, { compensationAttempts: 0 });
  }
  return withStep(state, key, {
    status: 'compensation_failed',
    compensationFailures: step.compensationFailures + 1,
    errors: withError(step, errorOf(event), event.now, 'compensation'),
    child: { ...child!, phase: 'ended' },
  });
}

function withPhase(state: SagaState, key: string, child: ChildState, status: StepState['status']): SagaState {
  return withStep(state, key, { status, child, active: false });
}

function errorOf({ status, error }: EventOf<'child-ended'>) {
  return error ?? { name: 'SubSagaFailedError', message: `The sub-saga was ${status}` };
}

/** A step that waits for another saga. */
export interface Awaited {
  readonly step: string;
  readonly id: string;
  /** That saga was asked to compensate what it had completed. */
  readonly isUndoing?: boolean;
}

/** The steps of a saga that wait for others, with those. */
export function awaitedBy({ steps }: SagaState): Awaited[] {
  return [...ownStepsOfKinds(steps, KIND.waiting | KIND.compensating | TIMED)].flatMap(([name, step]) =>
    awaitsChild(step) ? [{ step: name, id: step.child!.id, isUndoing: step.child!.phase === 'undoing' }] : [],
  );
}
