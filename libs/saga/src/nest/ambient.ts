import { SagaTransactionError, SagaValidationError } from '../errors.js';
import { readObject } from '../shared/read-object.js';
import type { Report } from '../shared/diagnostic.js';
import { shown } from '../shared/shown-value.js';
import { readTags, TAGS_RULE } from '../engine/payload/tags.js';

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

const OPTIONS = ['transaction', 'tags', 'run'] as const satisfies (keyof SagaAmbient)[];

/** Reports what is wrong. Undefined: nothing is taken from the context. */
export function readAmbient(given: SagaAmbient | undefined, report: Report): SagaAmbient | undefined {
  if (given === undefined) return undefined;
  const read = readObject<SagaAmbient>(given, OPTIONS, 'ambient.');
  if (!read)
    return void report(`ambient is ${shown(given)}`, 'give an object such as { transaction: () => … }');
  for (const { problem, fix } of read.flaws) report(problem, fix);
  for (const name of OPTIONS) {
    const value = read.options[name];
    if (value !== undefined && typeof value !== 'function')
      report(`ambient.${name} is ${shown(value)}`, 'give a function');
  }
  return read.options;
}

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
  const tags = readTags(found);
  if (!tags) throw new SagaValidationError(`start(): ambient.tags() returned ${shown(found)}; ${TAGS_RULE}.`);
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

/** SagaModule's option `ambient`, or null: for SagaMessagingModule. */
export const SAGA_AMBIENT = Symbol('SAGA_AMBIENT');
