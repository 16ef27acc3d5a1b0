import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { shown } from '../shared/shown-value.js';
import { SagaValidationError } from '../errors.js';
import { readOptions } from '../nest/calls/call-options.js';
import { NotedMeanwhile } from '../store/postgres/outbox/postgres-inbox.js';
import { isKey, LONGEST_KEY } from '../engine/payload/storable-key.js';
import { committed, TransactionWatch } from '../store/postgres/connection/transaction-watch.js';
import { MessagingRuntime } from './messaging.runtime.js';

/** Options of `Inbox.once()`. */
export interface OnceOptions {
  /** The consumer of the message, 1 to 255 characters. Each consumer handles a message once. Default: `'default'`. */
  consumer?: string;
}

/** The result of `Inbox.once()`: the work's result, or `handled: false` if the message had already been handled. */
export type Once<T> = { readonly handled: true; readonly result: T } | { readonly handled: false };

/** Records handled messages, so that each is handled once. */
@Injectable()
export class Inbox {
  /** @hidden */
  constructor(@Inject(MessagingRuntime) private readonly runtime: MessagingRuntime) {}

  /**
   * Handles a message once. Calls `work` unless this message has been handled before, and records the message in the
   * same transaction as the writes of `work` through its manager. If two deliveries arrive concurrently, the second
   * waits for the first, and is handled only if the first fails. An error of `work` rolls back both and is thrown.
   *
   * @param messageId 1 to 255 characters
   * @param manager a manager in a transaction, which then includes the work; otherwise a transaction is opened
   * @returns `{ handled: false }` if the message has been handled before
   * @throws SagaValidationError for an id or a consumer that cannot be stored
   * @throws SagaTransactionError if `work` caught the error of a statement, or ended the transaction; then nothing is
   * stored
   */
  async once<T>(
    messageId: string,
    manager: EntityManager,
    work: (manager: EntityManager) => Promise<T> | T,
    options?: OnceOptions,
  ): Promise<Once<T>> {
    const { consumer = 'default' } = readOptions('once(): options', options, ['consumer']);
    for (const [name, value] of Object.entries({ messageId, consumer })) {
      if (!isKey(value))
        throw new SagaValidationError(
          `once(): ${name} is ${shown(value)}; give a string of 1 to ${LONGEST_KEY} characters, without NUL or half surrogate pairs.`,
        );
    }
    const { inbox } = await this.runtime.ready();
    const what = `Message '${messageId}'`;
    const inTransaction = async (own: EntityManager): Promise<Once<T>> => {
      if (!(await inbox.isNew(own, consumer, messageId))) return { handled: false };
      return { handled: true, result: await work(own) };
    };
    if (!manager.queryRunner?.isTransactionActive)
      return ownTransaction(() => committed(manager, what, inTransaction));
    const watch = await TransactionWatch.of(manager);
    const once = await inTransaction(manager);
    await watch?.requireOpen(what, manager);
    return once;
  }
}

/**
 * Runs a transaction, and repeats it while its isolation level hides a record of the message that was committed since
 * it began.
 */
async function ownTransaction<T>(transaction: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await transaction();
    } catch (error) {
      if (!(error instanceof NotedMeanwhile)) throw error;
    }
  }
}
