import type { EventOf, MissingCode } from './saga-event.js';
import {
  isInProgress,
  type SagaState,
  stepState,
  changeState,
  isTerminal,
  type StepState,
} from './saga-state.js';
import { withError } from './attempt-errors.js';
import { withStep } from './step-changes.js';
import type { BoundGraph, Gap } from '../definition/describe/bind-graph.js';
import { itemKey, type SagaGraph, type StepNode } from '../definition/graph/saga-graph.js';
import { isDone, isDropped, pivotPassed } from './predicates.js';
import { descendantsOf, relationsOf } from './graph-relations.js';
import { mayReturnTo } from './savepoints.js';

/**
 * What a saga that goes by a stored graph may still need of the deployed class and would not find. None: it can go on,
 * forward and back. Pure.
 */
export function missingCode({ graph, gaps }: BoundGraph, state: SagaState): MissingCode[] {
  if (gaps.size === 0 || isTerminal(state.status)) return [];
  const again = stepsAgain(graph, state);
  return [...gaps].flatMap(([step, gap]) => {
    const node = graph.steps.get(step)!;
    return missingFor(node, gap, state, mayRun(state, step, again), mayCompensate(graph, state));
  });
}

function missingFor(
  node: StepNode,
  gap: Gap,
  state: SagaState,
  runs: boolean,
  turnsBack: boolean,
): MissingCode[] {
  const { name } = node;
  const stands = standing(state, name);
  const problems = [
    runs && gap.run !== undefined && `step '${name}' ${stands}, and ${gap.run}`,
    turnsBack &&
      gap.undo !== undefined &&
      (runs || mayBeUndone(node, state)) &&
      `step '${name}' ${stands}, and ${gap.undo}`,
  ];
  return problems.filter((problem) => problem !== false).map((problem) => ({ step: name, problem }));
}

/** Where a step stands, as the first half of a sentence about it. */
export function standing(state: SagaState, name: string): string {
  const step = stepState(state, name);
  if (step.status === 'completed') return 'is completed';
  if (step.status === 'skipped') return 'was skipped';
  if (step.status === 'compensated') return 'was compensated';
  if (step.status === 'compensating' || step.status === 'compensation_failed') return 'is being compensated';
  if (hasBegun(step)) return 'has begun';
  return 'is not completed yet';
}

/** Something was tried of it, or is about to be: more than a wait for its turn. */
export function hasBegun(step: StepState): boolean {
  const untouched = step.status === 'pending' || step.status === 'waiting';
  return !untouched || step.attempts > 0 || step.unknown || step.items !== undefined;
}

/** All the rollback: nothing begins any more. */
export function onlyCompensates({ status, heldPhase, rollbackTo }: SagaState): boolean {
  return (status === 'compensating' || heldPhase === 'compensating') && rollbackTo === undefined;
}

function mayRun(state: SagaState, name: string, again: ReadonlySet<string>): boolean {
  if (onlyCompensates(state)) return false;
  const step = stepState(state, name);
  return again.has(name) || (!isDone(step) && !isDropped(step));
}

/** The steps that would be run again if the saga went back to a savepoint; or will, if it is on its way there. */
function stepsAgain(graph: SagaGraph, state: SagaState): ReadonlySet<string> {
  const again = new Set<string>();
  if (onlyCompensates(state)) return again;
  for (const name of relationsOf(graph).savepoints) {
    const after = descendantsOf(graph, name);
    const canFail = [...after].some(
      (step) => !isDone(stepState(state, step)) && !isDropped(stepState(state, step)),
    );
    if (state.rollbackTo === name || (canFail && mayReturnTo(graph, state, name)))
      for (const step of after) again.add(step);
  }
  return again;
}

/** False: behind its point of no return, where nothing can be undone any more. */
function mayCompensate(graph: SagaGraph, state: SagaState): boolean {
  const { savepoints, hasJoinAny, hasOptional } = relationsOf(graph);
  return savepoints.length > 0 || hasJoinAny || hasOptional || !pivotPassed(graph, state);
}

/** Whether the step took effect, or may have, and is not undone yet. */
function mayBeUndone(node: StepNode, state: SagaState): boolean {
  const step = stepState(state, node.name);
  const parts = step.items?.map((_, index) => stepState(state, itemKey(node.name, index))) ?? [step];
  return parts.some(({ status, unknown, attempts }) => {
    if (status === 'skipped' || status === 'compensated') return false;
    if (status === 'failed') return unknown || node.compensateOnFailure;
    return status !== 'pending' && status !== 'waiting' ? true : attempts > 0 || unknown;
  });
}

/**
 * Stops the saga before anything starts that could not be ended. The saga is stuck, and each step concerned records the
 * reason. After a retry it continues, once the code has what it lacked.
 */
export function incompatible(state: SagaState, { missing, fix, now }: EventOf<'code-missing'>): SagaState {
  const { status, failure } = state;
  const [first] = missing;
  if (!isInProgress(status) || !first) return state;
  const during = status === 'running' ? 'step' : 'compensation';
  const errorOf = (problem: string) => ({
    name: 'SagaDriftError',
    code: 'SAGA_DRIFT',
    message: `${problem}. ${fix}`,
  });
  let next = state;
  for (const { step, problem } of missing)
    next = withStep(next, step, { errors: withError(stepState(next, step), errorOf(problem), now, during) });
  const error = errorOf(missing.map(({ problem }) => problem).join('; '));
  // The compensations receive the failure that made the saga compensate.
  return changeState(next, {
    status: 'stuck',
    heldPhase: status,
    failure: failure ?? { kind: 'error', step: first.step, error },
  });
}
