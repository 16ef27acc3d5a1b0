import { SagaValidationError } from '../../errors.js';
import { type Duration, readDuration } from './duration.js';
import { type Diagnostic, textOfDiagnostic, textOfProblems } from '../../shared/diagnostic.js';
import { readObject } from '../../shared/read-object.js';
import { shown } from '../../shared/shown-value.js';

/** When and how often a failed attempt is retried. */
export interface RetryPolicy {
  /** The number of attempts in all, the first included; at least 1. */
  attempts: number;
  /** The delay before the second attempt. Default: `'200ms'`. */
  delay?: Duration;
  /** The factor by which each further delay grows. Default: 2. */
  factor?: number;
  /** The maximum delay. Default: `'1m'`, or `delay` if that is longer. */
  maxDelay?: Duration;
  /**
   * How the delay grows. `'exponential'`: by `factor` after each failure. `'fixed'`: it does not, each delay is `delay`.
   * A function returns the delay after a failed attempt, synchronously and without jitter; it receives the number of
   * the attempt, from 1, and its error. Default: `'exponential'`.
   */
  backoff?: 'exponential' | 'fixed' | ((attempt: number, error: unknown) => Duration);
  /** The random part of the delay, 0 to 1, which spreads the retries of simultaneous failures. Default: 0.2. */
  jitter?: number;
  /**
   * Returns whether to retry after an error, synchronously. `false` makes the saga compensate at once. Default: `true`
   * for every error but StepRejectedError.
   */
  retryIf?: (error: unknown) => boolean;
}

/** What a column of counts can hold. */
const MOST_ATTEMPTS = 2_147_483_647;

const POLICY = [
  'attempts',
  'delay',
  'factor',
  'maxDelay',
  'backoff',
  'jitter',
  'retryIf',
] as const satisfies (keyof RetryPolicy)[];

/** Returns the delay after a failed attempt. */
export type Backoff = (attempt: number, error: unknown) => Duration;

/** What a delay is made of, which each kind of back-off takes no account of. */
const UNUSED: Record<'fixed' | 'function', readonly (keyof RetryPolicy)[]> = {
  fixed: ['factor', 'maxDelay'],
  function: ['delay', 'factor', 'maxDelay', 'jitter'],
};

/** A retry policy with its defaults in and its durations in milliseconds. */
export interface ResolvedRetryPolicy {
  readonly attempts: number;
  readonly delay: number;
  readonly factor: number;
  readonly maxDelay: number;
  readonly jitter: number;
  /** Undefined: exponential. */
  readonly backoff?: 'fixed' | Backoff;
  readonly retryIf?: (error: unknown) => boolean;
}

export const DEFAULT_STEP_RETRY: RetryPolicy = { attempts: 3 };
export const DEFAULT_COMPENSATION_RETRY: RetryPolicy = { attempts: 10 };
/** An at-most-once step is tried again only if it says so itself. */
export const AT_MOST_ONCE_RETRY: RetryPolicy = { attempts: 1 };

/**
 * The policy with its defaults in.
 * @throws SagaValidationError naming every value that is out of range; `what` says whose policy it is.
 */
export function resolveRetryPolicy(policy: RetryPolicy, what = 'retry'): ResolvedRetryPolicy {
  const { resolved, flaws } = readRetryPolicy(policy, what);
  if (!resolved) throw new SagaValidationError(textOfProblems(flaws.map(textOfDiagnostic)));
  return resolved;
}

/** The policy with its defaults in, or all that is wrong with it. */
export function readRetryPolicy(
  given: RetryPolicy,
  what: string,
): { resolved?: ResolvedRetryPolicy; flaws: readonly Diagnostic[] } {
  const [option, owner] = what.split(' ').reverse();
  const read = readObject<RetryPolicy>(given, POLICY, `${option}.`);
  if (!read) {
    const problem = `${what} is ${shown(given)}`;
    return { flaws: [{ problem, fix: 'give a policy such as { attempts: 3 }' }] };
  }
  const policy = read.options;
  const flaws: Diagnostic[] = read.flaws.map(({ problem, fix }) => ({
    problem: owner === undefined ? problem : `${owner} has the ${problem}`,
    fix,
  }));
  const expect = (fits: boolean, key: keyof RetryPolicy, fix: string): void => {
    if (!fits) flaws.push({ problem: `${what}.${key} is ${shown(policy[key])}`, fix });
  };
  const milliseconds = (duration: Duration, key: keyof RetryPolicy): number => {
    const read = readDuration(duration, `${what}.${key}`);
    if (typeof read === 'number') return read;
    flaws.push(read);
    return 0;
  };
  const { backoff } = policy;
  const delay = milliseconds(policy.delay ?? '200ms', 'delay');
  const resolved: ResolvedRetryPolicy = {
    attempts: policy.attempts!,
    delay,
    factor: policy.factor ?? 2,
    maxDelay:
      policy.maxDelay === undefined ? Math.max(60_000, delay) : milliseconds(policy.maxDelay, 'maxDelay'),
    jitter: policy.jitter ?? 0.2,
    retryIf: policy.retryIf,
    ...(backoff !== undefined && backoff !== 'exponential' && { backoff }),
  };
  const { attempts, factor, jitter, retryIf } = resolved;
  const isCount = Number.isInteger(attempts) && attempts >= 1 && attempts <= MOST_ATTEMPTS;
  expect(isCount, 'attempts', `give a whole number from 1 to ${MOST_ATTEMPTS}`);
  expect(Number.isFinite(factor) && factor >= 1, 'factor', 'give a number from 1');
  expect(Number.isFinite(jitter) && jitter >= 0 && jitter <= 1, 'jitter', 'give a number from 0 to 1');
  const kind = typeof backoff === 'function' ? 'function' : backoff;
  const isKind = kind === undefined || ['exponential', 'fixed', 'function'].includes(kind);
  expect(isKind, 'backoff', "give 'exponential', 'fixed' or a function that returns the delay");
  for (const key of (isKind && UNUSED[kind as keyof typeof UNUSED]) || [])
    expect(
      policy[key] === undefined,
      key,
      `remove it: backoff ${kind === 'fixed' ? "'fixed'" : 'as a function'} does not use it`,
    );
  expect(retryIf === undefined || typeof retryIf === 'function', 'retryIf', 'give a function');
  return flaws.length > 0 ? { flaws } : { resolved, flaws };
}

/**
 * Milliseconds to wait after the `failures`-th failure: fixed, or exponential with an upper bound and jitter below it
 * ("equal jitter", https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
 * @param random a number from 0 to 1, given by the caller so that this stays a function of its arguments
 */
export function retryDelay(policy: ResolvedRetryPolicy, failures: number, random: number): number {
  if (policy.backoff === 'fixed') return Math.round(policy.delay * (1 - policy.jitter * random));
  // The power may be Infinity, and nothing times Infinity is no number.
  const full =
    policy.delay === 0 ? 0 : Math.min(policy.maxDelay, policy.delay * policy.factor ** (failures - 1));
  return Math.round(full * (1 - policy.jitter * random));
}
