import { type Duration, readDuration } from './duration.js';
import { readObject } from '../../shared/read-object.js';
import { readRetryPolicy, type ResolvedRetryPolicy, type RetryPolicy } from './retry-policy.js';
import type { Report } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';

/** The largest number of PostgreSQL's integer, in which counts are kept. */
export const LARGEST_COUNT = 2 ** 31 - 1;
/** Longest name of a saga or step; both are in index keys and idempotency keys. */
export const LONGEST_NAME = 200;
/** What separates a step's name from the rest of an idempotency key. */
export const SEPARATORS = /[\s:~[\]]/;
/** Control characters and lone surrogates, which PostgreSQL or people cannot read. */
export const UNREADABLE = /[\p{Cc}\p{Cs}]/u;

/**
 * Reads options of whatever callers without a compiler gave. What is wrong is reported; such a definition
 * is never used, whatever is returned in the place of the wrong value.
 */
export class OptionReader {
  constructor(
    private readonly report: Report,
    /** Goes before the name of an option, where its owner has to be said: `@Saga `. */
    private readonly owner = '',
  ) {}

  /**
   * The options of a call, each read once; unknown ones are reported.
   * @param below the option that has them, with a dot: `worker.`
   */
  options<T extends object>(given: T, known: readonly (keyof T & string)[], below = ''): Partial<T> {
    const read = readObject<T>(given, known, below);
    if (read) for (const { problem, fix } of read.flaws) this.report(this.ownersOf(problem), fix);
    else this.report(`${this.owner}options are ${shown(given)}`, 'give an object');
    return read?.options ?? {};
  }

  flag(value: unknown, option: string, byDefault = false): boolean {
    if (value === undefined || typeof value === 'boolean') return value ?? byDefault;
    return this.refuse(value, option, 'give true or false', byDefault);
  }

  oneOf<const T extends string>(value: unknown, option: string, allowed: readonly [T, ...T[]]): T {
    if (value === undefined) return allowed[0];
    if (allowed.includes(value as T)) return value as T;
    const fix = `give ${allowed.map((one) => `'${one}'`).join(' or ')}`;
    return this.refuse(value, option, fix, allowed[0]);
  }

  function<T extends (...args: never[]) => unknown>(value: T | undefined, option: string): T | undefined {
    if (value === undefined || typeof value === 'function') return value;
    return this.refuse(value, option, 'give a function', undefined);
  }

  count(value: unknown, option: string, least = 1, most = LARGEST_COUNT): number {
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) {
      return value as number;
    }
    return this.refuse(value, option, `give a whole number from ${least}`, least);
  }

  /** The options below an option, as `options` gives them; undefined: it is no object, and that was reported. */
  object<T extends object>(
    value: T,
    option: string,
    keys: readonly (keyof T & string)[],
    example: string,
  ): Partial<T> | undefined {
    const read = readObject<T>(value, keys, `${option}.`);
    if (!read) return this.refuse(value, option, `give ${example}`, undefined);
    for (const { problem, fix } of read.flaws) this.report(this.ownersOf(problem), fix);
    return read.options;
  }

  private ownersOf(problem: string): string {
    return this.owner === '' ? problem : `${this.owner}has the ${problem}`;
  }

  /** In milliseconds. */
  duration(value: Duration, option: string, longest?: number, instead = 0): number {
    const read = readDuration(value, this.owner + option, longest);
    if (typeof read === 'number') return read;
    this.report(read.problem, read.fix);
    return instead;
  }

  /** In milliseconds; 0 is refused, with why it would make no sense. */
  durationAboveZero(value: Duration, option: string, because: string, longest?: number): number {
    const read = this.duration(value, option, longest, NaN);
    if (read === 0) this.report(`${this.owner}${option} 0 ${because}`, 'remove the option to set none');
    return read;
  }

  retry(policy: RetryPolicy, option: string): ResolvedRetryPolicy | undefined {
    const { resolved, flaws } = readRetryPolicy(policy, this.owner + option);
    for (const { problem, fix } of flaws) this.report(problem, fix);
    return resolved;
  }

  private refuse<T>(value: unknown, option: string, fix: string, instead: T): T {
    this.report(`${this.owner}${option} is ${shown(value)}`, fix);
    return instead;
  }
}
