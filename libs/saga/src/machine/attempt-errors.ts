import type { AttemptError, SagaFailure, SerializedError } from '../definition/types/saga-failure.js';
import type { SagaState, StepState } from './saga-state.js';

/** Failed attempts kept per step. */
export const ERRORS_KEPT = 5;

/** A copy of an error, without its attempt: property by property, since a copy by spreading is dear (see `StepState`). */
export function errorOf({ name, message, code, stack, cause }: SerializedError): SerializedError {
  const error: SerializedError = { name, message };
  if (code !== undefined) error.code = code;
  if (stack !== undefined) error.stack = stack;
  if (cause !== undefined) error.cause = cause;
  return error;
}

/** @param at milliseconds since the epoch */
export function attemptError(
  error: SerializedError,
  attempt: number,
  at: number,
  during: AttemptError['during'],
): AttemptError {
  return Object.assign(errorOf(error), { attempt, at: new Date(at).toISOString(), during });
}

/** The errors of a step once another attempt has failed. */
export function withError(
  step: StepState,
  error: SerializedError,
  now: number,
  during: AttemptError['during'],
): AttemptError[] {
  const attempt = during === 'step' ? step.attempts : step.compensationAttempts;
  return [...step.errors, attemptError(error, attempt, now, during)].slice(-ERRORS_KEPT);
}

/** Whether two errors are the same, whenever they happened. */
export function isSameError(a: SerializedError, b: SerializedError): boolean {
  return (
    a.name === b.name &&
    a.message === b.message &&
    a.code === b.code &&
    a.stack === b.stack &&
    (a.cause === b.cause || (a.cause !== undefined && b.cause !== undefined && isSameError(a.cause, b.cause)))
  );
}

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
