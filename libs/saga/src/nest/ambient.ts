import { SagaTransactionError, SagaValidationError } from '../errors.js';
import * as kind from '../definition/options/kinds.js';
import { optional, type OptionTable } from '../definition/options/option-reader.js';
import { shown } from '../shared/shown-value.js';
import { tagsToStore, TAGS_RULE } from '../engine/payload/tags.js';

/** What sagas take from the asynchronous context of the application: from AsyncLocalStorage, or a package over it. */
export interface SagaAmbient {
  /**
   * Returns the transaction that is open in the context of a call. `start`, `signal`, `Outbox.publish` and `Inbox.once`
   * use it if they are given none. Undefined: none is open. Default: calls use the transactions that they are given.
   */
  transaction?: () => object | undefined;
  /**
   * Returns tags that a new saga gets from the context of its start: the tenant, for example. Tags of `start()` come
   * first. Its sub-sagas get them, too. Undefined: none. Default: none.
   */
  tags?: () => Readonly<Record<string, string>> | undefined;
  /**
   * Calls a method of a saga in a context made of the tags of the saga, and returns what the method returns. Steps,
   * compensations and probes are called so. Default: methods are called in an empty context, whatever started the saga.
   */
  run?: <T>(tags: Readonly<Record<string, string>>, method: () => T) => T;
}

export const AMBIENT_OPTIONS = {
  transaction: optional(kind.func<() => object | undefined>()),
  tags: optional(kind.func<NonNullable<SagaAmbient['tags']>>()),
  run: optional(kind.func<NonNullable<SagaAmbient['run']>>()),
} satisfies OptionTable<SagaAmbient>;

/**
 * Returns the tags of a new saga.
 * @throws SagaValidationError if those of the context cannot be stored
 */
export function tagsWith(
  ambient: SagaAmbient | undefined,
  given: Record<string, string> | undefined,
): Record<string, string> | undefined {
  const found = ambient?.tags?.();
  if (found === undefined) return given;
  const tags = tagsToStore(found);
  if (!tags)
    throw new SagaValidationError(`start(): ambient.tags() returned ${shown(found)}; give ${TAGS_RULE}.`);
  return { ...tags, ...given };
}

/**
 * Returns the transaction of the context of a call that requires one.
 * @throws SagaTransactionError if none is open
 */
export function requireAmbient(ambient: SagaAmbient | undefined, call: string): object {
  const transaction = ambient?.transaction?.();
  if (transaction) return transaction;
  const why = ambient?.transaction
    ? 'and none is open in its context'
    : 'and forRoot({ ambient }) is not set';
  throw new SagaTransactionError(`${call}(): no transaction is given, ${why}. Give a transaction.`);
}
