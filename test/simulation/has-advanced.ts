import { type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';

/** A part of the saga has ended, or has started in a way that happens only once. */
export function hasAdvanced(before: SagaState, after: SagaState): boolean {
  if (before.status !== after.status) return true;
  return [...after.steps].some(([key, { status, failures, compensationFailures, wait }]) => {
    const was = stepState(before, key);
    const isNews = status !== 'pending' && status !== 'waiting' && status !== 'compensating';
    return (
      (isNews && status !== was.status) ||
      (wait !== undefined && was.wait === undefined) ||
      failures > was.failures ||
      compensationFailures > was.compensationFailures
    );
  });
}
