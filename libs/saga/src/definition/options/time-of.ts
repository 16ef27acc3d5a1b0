import { types } from 'node:util';
import type { KeyContext, StepContext } from '../types/contexts.js';
import { ignoreRejection } from '../../shared/ignore-rejection.js';
import { shown } from '../../shared/shown-value.js';
import { type Duration, LONGEST_DURATION, toMilliseconds } from './duration.js';

/* oxlint-disable typescript/no-explicit-any -- each saga has an input of its own */
/**
 * Returns how long to wait, or until when, from the input and the results. It is called once, without `await`, and its
 * result is stored, so that a restart does not change it. A time in the past means at once. A function that throws, or
 * returns neither a duration nor a valid Date, fails the step.
 */
export type TimeOf = (ctx: StepContext<any, any>) => Duration | Date;

/**
 * Returns the time from the start, or a date, from the input and the tags of the saga. It is called once, in `start()`, and its
 * result is stored. If it throws, or returns neither a duration nor a valid Date, `start()` throws SagaValidationError.
 */
export type StartTimeOf<Input = any> = (ctx: KeyContext<Input, undefined>) => Duration | Date;
/* oxlint-enable typescript/no-explicit-any */

/**
 * The time that such a function returned; milliseconds since the epoch, not before `now`.
 * @param what names the function in messages
 * @throws SagaValidationError, TypeError when it returned no time
 */
export function timeReturned(value: unknown, what: string, now: number): number {
  if (typeof value === 'number' || typeof value === 'string') return now + toMilliseconds(value, `${what}()`);
  const time = types.isDate(value) ? Date.prototype.getTime.call(value) : NaN;
  if (time <= now + LONGEST_DURATION) return Math.max(now, time);
  ignoreRejection(value);
  throw new TypeError(
    `${what}() must synchronously return a duration, or a valid Date within a hundred years; it returned ${shown(value)}`,
  );
}
