import { KIND, TIMED } from './data/step-kinds.js';
import { stepOfKey } from '../definition/graph/saga-graph.js';
import {
  awaitsChild,
  PENDING,
  type SagaState,
  type StepState,
  stepState,
  changeState,
  changeStep,
} from './saga-state.js';
import { mapOfKinds, StepMap } from './data/step-map.js';

/** Changes a step or an item. */
export function withStep<K extends keyof StepState>(
  state: SagaState,
  key: string,
  changes: Pick<StepState, K>,
): SagaState {
  return putStep(state, key, changeStep(stepOrNew(state, key), changes));
}

/** Replaces a step or an item. */
export function putStep(state: SagaState, key: string, step: StepState): SagaState {
  return changeState(state, { steps: StepMap.with(state.steps, key, step) });
}

function stepOrNew(state: SagaState, key: string): StepState {
  const step = state.steps.get(key);
  if (step !== undefined) return step;
  const name = stepOfKey(key);
  // Items are in the round of their step.
  return name === key ? PENDING : changeStep(PENDING, { round: stepState(state, name).round });
}

/** Changes the steps and items of some kinds, of those that something has happened to. */
export function mapSteps(
  state: SagaState,
  kinds: number,
  change: (step: StepState, key: string) => StepState,
): SagaState {
  return changeState(state, { steps: mapOfKinds(state.steps, kinds, change) });
}

/** What `giveUpWaiting` changes. */
export const GIVES_UP = KIND.pending | KIND.waiting | KIND.queued | KIND.running | TIMED;

/** No further attempt of the step, or the item, will be made. */
export function giveUp(state: SagaState, key: string): SagaState {
  return putStep(state, key, giveUpWaiting(stepOrNew(state, key)));
}

/** No further attempt will be made. */
export function giveUpWaiting(step: StepState): StepState {
  if (step.active || step.status === 'completed' || step.status === 'failed' || awaitsChild(step))
    return step;
  // A fan-out that is not done; its items are looked at by themselves.
  if (step.items && step.status === 'running') return changeStep(step, { status: 'failed' });
  if (step.status !== 'waiting' && step.status !== 'pending') return step;
  return step.attempts > 0
    ? changeStep(step, { status: 'failed', retryAt: undefined, wait: whatCame(step), slot: undefined })
    : changeStep(step, { status: 'pending', retryAt: undefined, wait: undefined, slot: undefined });
}

/** What an attempt was called with is what the next one is called with, should there be one; otherwise it waits anew. */
export function whatCame({ wait }: StepState): StepState['wait'] {
  return wait?.takenSignal === undefined ? undefined : wait;
}
