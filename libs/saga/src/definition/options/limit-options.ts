import type { KeyContext } from '../types/contexts.js';
import type { Duration } from './duration.js';
import * as kind from './kinds.js';
import { type Kind, optional, type OptionsRead, type OptionTable, required } from './option-reader.js';

/* oxlint-disable typescript/no-explicit-any -- each saga has an input of its own */
/**
 * Returns the key of a lock or a limit, such as a tenant or an account: 1 to 500 characters, without `await`. The key of a
 * saga is computed in `start()`: if the function throws, or returns something else, `start()` throws SagaValidationError.
 * The key of a step is computed before each attempt: the step then fails without a retry.
 */
export type KeyOf<Input = any, Item = any> = (ctx: KeyContext<Input, Item>) => string;

/** A limit on the sagas of a name, or on the attempts of a step, that are in progress at once in all processes. */
export interface Limit<Input = any, Item = any> {
  /** The maximum number at once, of each key if there is one: a whole number from 1. */
  count: number;
  /** The key of the limit, such as the tenant: each key has `count`. Default: none, the limit is of the saga or step. */
  key?: KeyOf<Input, Item>;
}

/** A limit on how often sagas of a name, or attempts of a step, begin in all processes. */
export interface RateLimit<Input = any, Item = any> {
  /** The number of sagas, or of attempts: a whole number from 1. */
  count: number;
  /** The length of the window, in which at most `count` begin. */
  per: Duration;
  /** The key of the limit, such as the tenant: each key has its own windows. Default: none, the limit is of the saga or step. */
  key?: KeyOf<Input, Item>;
}
/* oxlint-enable typescript/no-explicit-any */

export const LIMIT = {
  count: required(kind.count()),
  key: optional(kind.func<KeyOf>()),
} satisfies OptionTable<Limit>;
export const RATE_LIMIT = {
  ...LIMIT,
  per: required(kind.duration({ zero: 'would limit nothing' })),
} satisfies OptionTable<RateLimit>;

type LimitRead = OptionsRead<typeof LIMIT>;

const limitObject = kind.object(LIMIT, 'a whole number from 1, or an object such as { count: 10 }');
const countOrLimit = kind.orObject<number, number, Limit, LimitRead>(kind.count(), limitObject);
/** A limit. A number alone is its count. */
export const limit: Kind<number | Limit, LimitRead> = {
  read: (value, option, reader) => {
    const read = countOrLimit.read(value, option, reader);
    return typeof read === 'number' ? { count: read } : read;
  },
};
export const rateLimit = kind.object(RATE_LIMIT, "an object such as { count: 10, per: '1s' }");
