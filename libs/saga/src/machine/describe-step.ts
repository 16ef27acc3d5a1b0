import type { MachineDecision } from './plan.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { relationsOf } from './graph-relations.js';
import { isTerminal, type SagaState, type StepState } from './saga-state.js';
import { FAILED, KIND, TIMED } from './data/step-kinds.js';
import { isDropped } from './predicates.js';
import { namesOfKinds } from './data/step-map.js';

/** In progress, waiting, or its compensation failed permanently. */
const STANDING =
  KIND.active | TIMED | KIND.waiting | KIND.queued | KIND.compensating | KIND.compensationFailed;

/**
 * Describes the current step of a saga for one column: the steps in progress, next, waiting for a retry, or failed
 * permanently.
 */
export function describeStep(graph: SagaGraph, state: SagaState, next: MachineDecision): string {
  const names: string[] = [];
  const add = (name: string) => {
    if (!names.includes(name)) names.push(name);
  };
  for (const { node } of next.actions) add(node.name);
  if (next.held) for (const { node } of next.held) add(node.name);
  // What made it compensate is not what a saga that is stuck while compensating stands at.
  const doing = state.heldPhase ?? state.status;
  const forward = doing !== 'compensating' && doing !== 'compensated';
  const stands = (step: StepState) => {
    const { status } = step;
    const waits = status === 'waiting' || status === 'compensating';
    const gaveUp = status === 'compensation_failed' || (forward && status === 'failed' && !isDropped(step));
    return step.active || waits || gaveUp;
  };
  namesOfKinds(state.steps, forward ? STANDING | FAILED : STANDING, stands).forEach(add);
  // Before its start time, or its turn.
  if (names.length === 0 && forward && state.steps.size === 0 && !isTerminal(state.status))
    return relationsOf(graph).firstSteps;
  return names.join(', ');
}
