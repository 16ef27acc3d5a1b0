import type { AttemptError, SerializedError } from '../definition/types/saga-failure.js';

// Property by property, since a copy by spreading is dear: see change-state.ts.

/** A copy of an error, without its attempt. */
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
