import type { AttemptError, SagaFailure } from '../definition/types/saga-failure.js';
import type { SagaState } from './saga-state.js';
import { errorOf } from './attempt-error.js';
import { isSameError } from './step-notes.js';

/** A saga's failure without its error, which is the error of an attempt of the step that failed. */
export type FailedAttempt = Omit<SagaFailure, 'error'> & { readonly attempt: number };

/**
 * The number of the attempt whose error is the error of the saga's failure. The step has that error, so that the failure
 * need not be stored with a second copy. Undefined: no attempt that is kept has it.
 */
export function attemptOfFailure({ failure, steps }: SagaState): number | undefined {
  if (failure?.step === undefined || failure.error === undefined) return undefined;
  const { step, error } = failure;
  const errors = steps.get(step)?.errors ?? [];
  const found = errors.findLast((one) => one.during === 'step' && isSameError(one, error));
  // Attempts are counted anew in each round.
  return found !== undefined && found === attemptIn(errors, found.attempt) ? found.attempt : undefined;
}

/** The failure with the error of its attempt. */
export function failureOf({ attempt, ...failure }: FailedAttempt, steps: SagaState['steps']): SagaFailure {
  const found = attemptIn(steps.get(failure.step!)?.errors ?? [], attempt);
  if (found === undefined) return failure;
  return { ...failure, error: errorOf(found) };
}

function attemptIn(errors: readonly AttemptError[], attempt: number): AttemptError | undefined {
  return errors.findLast((one) => one.during === 'step' && one.attempt === attempt);
}
