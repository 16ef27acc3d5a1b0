import type { StepContext } from '../types/contexts.js';
import type { Duration } from './duration.js';
import * as kind from './kinds.js';
import { type Kind, optional, type OptionTable, required } from './option-reader.js';

/* oxlint-disable typescript/no-explicit-any -- each saga has an input of its own */
/**
 * Returns the key of a limit from the input of the saga, such as a tenant: each key has the whole limit for itself. It is
 * called once, in `start()`, and its result is stored. It returns 1 to 500 characters. If it throws, or returns something
 * else, `start()` throws SagaValidationError.
 */
export type StartKeyOf = (ctx: { readonly input: any }) => string;

/**
 * Returns the key of a step's limit from the input and the results so far (and `ctx.item`, with `forEach`): each key has
 * the whole limit for itself. It returns 1 to 500 characters, without `await`. If it throws, or returns something else,
 * the step fails without a retry.
 */
export type StepKeyOf = (ctx: StepContext<any, any>) => string;
/* oxlint-enable typescript/no-explicit-any */

/** A limit on the sagas of a name that run at once. */
export interface SagaLimit {
  /** The maximum number of sagas that run at once, of each key if there is one: a whole number from 1. */
  count: number;
  /** The key of the limit, such as the tenant. Default: none, the limit is of the name. */
  key?: StartKeyOf;
}

/** A limit on the attempts of a step that are in progress at once, over all sagas and processes. */
export interface StepLimit {
  /** The maximum number of attempts in progress at once, a whole number from 1. */
  count: number;
  /** The key of the limit, such as the account: each key has `count`. Default: none, the limit is of the step. */
  key?: StepKeyOf;
}

/** A limit on how often sagas of a name begin, across all processes. */
export interface SagaRateLimit {
  /** The number of sagas, a whole number from 1. */
  count: number;
  /** The length of the window, in which at most `count` sagas begin. */
  per: Duration;
  /** The key of the limit, such as the tenant: each key has its own windows. Default: none, the limit is of the name. */
  key?: StartKeyOf;
}

/** A limit on the attempts of a step, across all processes. */
export interface RateLimit {
  /** The number of attempts, a whole number from 1. */
  count: number;
  /** The length of the window, in which at most `count` attempts begin. */
  per: Duration;
  /** The key of the limit, such as the tenant: each key has its own windows. Default: none, the limit is of the step. */
  key?: StepKeyOf;
}

const per = required(kind.duration({ zero: 'would limit nothing' }));
export const SAGA_LIMIT = {
  count: required(kind.count()),
  key: optional(kind.func<StartKeyOf>()),
} satisfies OptionTable<SagaLimit>;
export const STEP_LIMIT = {
  count: required(kind.count()),
  key: optional(kind.func<StepKeyOf>()),
} satisfies OptionTable<StepLimit>;
export const SAGA_RATE_LIMIT = { ...SAGA_LIMIT, per } satisfies OptionTable<SagaRateLimit>;
export const RATE_LIMIT = { ...STEP_LIMIT, per } satisfies OptionTable<RateLimit>;
/** A limit. A number alone is its count. */
function limit<Given extends object, Read>(
  object: Kind<Given, Read>,
): Kind<number | Given, Read | { readonly count: number; readonly key?: undefined }> {
  const either = kind.orObject(kind.count(), object);
  return {
    read: (value, option, reader) => {
      const read = either.read(value, option, reader);
      return typeof read === 'number' ? { count: read } : read;
    },
  };
}
const LIMIT_EXAMPLE = 'a whole number from 1, or an object such as { count: 10 }';
export const sagaLimit = limit(kind.object(SAGA_LIMIT, LIMIT_EXAMPLE));
export const stepLimit = limit(kind.object(STEP_LIMIT, LIMIT_EXAMPLE));
/** An example of a rate limit, for messages. */
export const RATE_LIMIT_EXAMPLE = "an object such as { count: 10, per: '1s' }";
