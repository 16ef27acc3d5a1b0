import { SagaValidationError } from '../../errors.js';
import type { Duration } from './duration.js';
import * as kind from './kinds.js';
import {
  type Kind,
  optional,
  OptionReader,
  type OptionsRead,
  type OptionTable,
  required,
} from './option-reader.js';
import { withoutProblems } from './read-options.js';

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

/** The policies of steps and compensations if neither they, nor the saga, nor the module has one. */
export const DEFAULT_POLICIES = {
  retry: { attempts: 3 },
  compensationRetry: { attempts: 10 },
} satisfies Record<string, RetryPolicy>;

const backoff: Kind<NonNullable<RetryPolicy['backoff']>> = kind.checked(
  (value) => typeof value === 'function' || value === 'exponential' || value === 'fixed',
  "give 'exponential', 'fixed' or a function that returns the delay",
);

/** The options of a policy. `policyOf` has their defaults. */
export const RETRY_POLICY = {
  attempts: required(kind.count()),
  delay: optional(kind.duration()),
  factor: optional(kind.number(1)),
  maxDelay: optional(kind.duration()),
  backoff: optional({ ...backoff, shape: kind.oneOf('exponential', 'fixed').shape }),
  jitter: optional(kind.number(0, 1)),
  retryIf: optional(kind.func<(error: unknown) => boolean>()),
} satisfies OptionTable<RetryPolicy>;

/** A policy, with its defaults. */
export const retryPolicy: Kind<RetryPolicy, ResolvedRetryPolicy> = {
  read: (value, option, reader) => {
    const policy = reader.below(RETRY_POLICY, value, option, 'a policy such as { attempts: 3 }');
    return policy && policyOf(policy, option, reader);
  },
};

/** Adds the defaults to a policy. Reports options that its back-off does not use. */
export function policyOf(
  policy: Partial<OptionsRead<typeof RETRY_POLICY>>,
  option: string,
  reader: OptionReader,
): ResolvedRetryPolicy {
  const { attempts, delay = 200, factor = 2, jitter = 0.2, backoff, retryIf } = policy;
  const kind = typeof backoff === 'function' ? 'function' : backoff;
  for (const key of kind === 'fixed' || kind === 'function' ? UNUSED[kind] : [])
    if (policy[key] !== undefined)
      reader.refuse(
        policy[key],
        `${option}.${key}`,
        `remove it: backoff ${kind === 'fixed' ? "'fixed'" : 'as a function'} does not use it`,
      );
  return {
    attempts: attempts!,
    delay,
    factor,
    maxDelay: policy.maxDelay ?? Math.max(60_000, delay),
    jitter,
    retryIf,
    ...(backoff !== undefined && backoff !== 'exponential' && { backoff }),
  };
}

/**
 * Returns the policy with its defaults.
 * @param what the name of the policy, for messages
 * @throws SagaValidationError that names all invalid values
 */
export function resolveRetryPolicy(policy: RetryPolicy, what = 'retry'): ResolvedRetryPolicy {
  return withoutProblems('The retry policy', SagaValidationError, (report) =>
    retryPolicy.read(policy, what, new OptionReader(report))!,
  );
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
