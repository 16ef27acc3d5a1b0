import { SagaState, StepState } from './saga-state.js';

/** A copy of a step's state, in which this is different. */
export function changeStep<K extends keyof StepState>(
  step: StepState,
  changes: Pick<StepState, K>,
): StepState {
  return Object.assign(new StepState(step), changes);
}

/** A copy of a saga's state, in which this is different. */
export function changeState<K extends keyof SagaState>(
  state: SagaState,
  changes: Pick<SagaState, K>,
): SagaState {
  return Object.assign(new SagaState(state), changes);
}
