import { type SagaGraph, type StepNode, canBeUndone, startsSaga } from '../definition/graph/saga-graph.js';
import { relationsOf } from './graph-relations.js';
import { FAILED, KIND } from './data/step-kinds.js';
import { awaitsChild, awaitsSlot, type SagaState, type StepState, stepState } from './saga-state.js';

/** Done going forward: those that wait for it may begin. */
export function isDone(step: StepState): boolean {
  return step.status === 'completed' || step.status === 'skipped';
}

/** Done, or the saga continues without it: those that wait for it may begin. */
export function isPassed(step: StepState): boolean {
  return isDone(step) || step.continued === true;
}

/**
 * The saga goes forward without this step: it lost a join any, or failed and is optional. It does not begin again, and what
 * it did is undone meanwhile.
 */
export function isDropped({ pruned, continued }: StepState): boolean {
  return pruned || continued === true;
}

/** Did something happen that has to be undone, as far as anyone knows? */
export function needsUndo(node: StepNode, step: StepState): boolean {
  if (!canBeUndone(node)) return false;
  // Its saga, and what an operator did in its stead by the step's own compensation.
  if (startsSaga(node))
    return step.status === 'completed' && (step.child?.phase === 'ended' || node.compensate !== undefined);
  return (
    step.status === 'completed' || (step.status === 'failed' && (step.unknown || node.compensateOnFailure))
  );
}

/** The kinds of which an item of this step may have something to undo, or is being undone: all others have not. */
export function mayNeedUndo(node: StepNode): number {
  let kinds = KIND.active | KIND.timedBack | KIND.compensating | KIND.compensationFailed;
  if (!node.idempotent && node.probe !== undefined) kinds |= KIND.running;
  if (canBeUndone(node)) kinds |= KIND.completed | (node.compensateOnFailure ? FAILED : KIND.inDoubt);
  return kinds;
}

/** The point of no return lies behind: the saga only goes forward. */
export function pivotPassed(graph: SagaGraph, state: SagaState): boolean {
  return relationsOf(graph).pivots.some((name) => hasPassed(graph, state, name));
}

/** This pivot completed, and its effect stays: one that lost a join any stays if nothing can compensate it. */
export function hasPassed(graph: SagaGraph, state: SagaState, pivot: string): boolean {
  const { status, pruned } = stepState(state, pivot);
  return status === 'completed' && (!pruned || !canBeUndone(graph.steps.get(pivot)!));
}

/** This pivot may have completed, no attempt will find out, and nothing can compensate it: an operator has to say. */
export function mayHavePassed(node: StepNode, step: StepState): boolean {
  return node.pivot && !canBeUndone(node) && !step.active && step.status === 'failed' && step.unknown;
}

/**
 * The outcome of this pivot is not known, and will be: an attempt is in progress, its sub-saga is, or an earlier attempt
 * may have taken effect and the next one finds out. Nothing is compensated before.
 */
export function isUndecided(node: StepNode, step: StepState): boolean {
  if (!node.pivot || (step.pruned && canBeUndone(node))) return false;
  const { status, unknown } = step;
  if (status === 'running' || (status === 'waiting' && awaitsChild(step))) return true;
  return unknown && (status === 'pending' || status === 'waiting') && !canBeUndone(node);
}

/** Only an operator can say what became of this pivot, and the saga was to roll back. */
export function isBarred(graph: SagaGraph, state: SagaState, name: string): boolean {
  const node = graph.steps.get(name);
  return (
    node !== undefined &&
    node.pivot &&
    !canBeUndone(node) &&
    stepState(state, name).status === 'compensation_failed'
  );
}

/** Several steps are raced by what waits for them. */
export function isRace(node: StepNode): boolean {
  return node.join === 'any' && node.after.length > 1;
}

/** All that it waits for is done or dropped as optional, or the race that it waits for is won. */
export function isReady(state: SagaState, node: StepNode, step: StepState): boolean {
  if (!isRace(node)) return node.after.every((name) => isPassed(stepState(state, name)));
  if (step.wonBy !== undefined) return true;
  const able = node.after.map((name) => stepState(state, name)).filter((entry) => !entry.pruned);
  if (able.some((entry) => entry.status === 'completed')) return true;
  return able.length > 0 && able.every((entry) => entry.status === 'skipped' || entry.continued === true);
}

/** Whether the step waits for a slot of its limit over all sagas. The class may have none any more: then it begins. */
export function isQueued(node: StepNode, step: StepState): boolean {
  return node.limit !== undefined && awaitsSlot(step);
}

/** Only steps that have not begun, wait for another attempt, or were lost in progress begin; none while compensating. */
export function mayStart(state: SagaState, key: string): boolean {
  const step = stepState(state, key);
  return (
    state.status === 'running' &&
    !step.active &&
    !step.pruned &&
    !awaitsChild(step) &&
    (step.status === 'pending' || step.status === 'waiting' || step.status === 'running')
  );
}

/** Whether the step, or its compensation, has failed and waits for another attempt. */
export function backsOff(step: StepState): boolean {
  const { status, active, retryAt, permit, failures } = step;
  if (active || retryAt === undefined || permit !== undefined) return false;
  return status === 'compensating' || (status === 'waiting' && failures > 0);
}

/** An at-most-once step whose start is recorded and whose worker was lost, and that can be asked about. */
export function isLostAttempt(node: StepNode, step: StepState): boolean {
  return step.status === 'running' && !step.active && !node.idempotent && node.probe !== undefined;
}
