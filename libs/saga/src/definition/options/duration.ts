import { SagaValidationError } from '../../errors.js';
import { type Diagnostic, textOfDiagnostic } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';

/** Milliseconds as a number, or a whole or decimal number with a unit: `'250ms'`, `'10s'`, `'15m'`, `'24h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;
type UnitOf<D> = D extends `${number}${infer Unit}` ? Unit : never;

const MILLISECONDS: Readonly<Record<UnitOf<Duration>, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
/** The text of a duration, of which the last group is the unit. */
export const DURATION_PATTERN = new RegExp(String.raw`^\d+(\.\d+)?(${Object.keys(MILLISECONDS).join('|')})$`);
/** A hundred years: beyond it a timestamp is more likely a mistake than a wish, and PostgreSQL's range is near. */
export const LONGEST_DURATION = 100 * 365 * MILLISECONDS.d;

/** Node's timers cannot be set further ahead: the bound of durations that are kept in memory (24 days). */
export const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * A duration in milliseconds.
 * @throws SagaValidationError when it is not one; the message names `what`.
 */
export function toMilliseconds(duration: unknown, what = 'duration', longest = LONGEST_DURATION): number {
  const read = readDuration(duration, what, longest);
  if (typeof read !== 'number') throw new SagaValidationError(textOfDiagnostic(read));
  return read;
}

/** A duration in milliseconds, or what is wrong with it. */
export function readDuration(
  duration: unknown,
  what: string,
  longest = LONGEST_DURATION,
): number | Diagnostic {
  const match = typeof duration === 'string' ? DURATION_PATTERN.exec(duration) : undefined;
  const value = match ? parseFloat(match[0]) * MILLISECONDS[match[2] as UnitOf<Duration>] : duration;
  if (typeof value === 'number' && value >= 0 && value <= longest) return value;
  if (match) {
    const days = Math.floor(longest / MILLISECONDS.d);
    return { problem: `${what}: ${shown(duration)} is too long`, fix: `give at most '${days}d'` };
  }
  return {
    problem: `${what}: ${shown(duration)} is not a duration`,
    fix: `give milliseconds (0 to ${longest}) or a string such as '250ms', '10s', '15m', '24h' or '7d'`,
  };
}
