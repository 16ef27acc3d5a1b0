import { type SagaGraph, stepOfKey } from '../definition/graph/saga-graph.js';
import type { Decision } from './decide.js';
import type { SagaState } from './saga-state.js';
import { unsettledSteps } from './step-map.js';

/**
 * Describes the current step of a saga for one column: the steps in progress, next, waiting for a retry, or failed
 * permanently.
 */
export function describeStep(state: SagaState, next: Decision): string {
  const names: string[] = [];
  const add = (name: string) => {
    if (!names.includes(name)) names.push(name);
  };
  for (const { node } of next.actions) add(node.name);
  // What made it compensate is not what a saga that is stuck while compensating stands at.
  const doing = state.heldPhase ?? state.status;
  const forward = doing !== 'compensating' && doing !== 'compensated';
  for (const [name, step] of unsettledSteps(state.steps)) {
    const waits = step.status === 'waiting' || step.status === 'compensating';
    const gaveUp =
      step.status === 'compensation_failed' || (forward && step.status === 'failed' && !step.pruned);
    if (step.active || waits || gaveUp) add(stepOfKey(name));
  }
  return names.join(', ');
}

/** The first steps of a saga that has not begun. */
export function firstSteps(graph: SagaGraph): string {
  return [...graph.steps.values()]
    .filter((node) => node.after.length === 0)
    .map((node) => node.name)
    .join(', ');
}
