import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { shown } from '../shared/shown-value.js';
import { SagaValidationError } from '../errors.js';
import { readOptions } from '../nest/calls/call-options.js';
import { NotedMeanwhile } from '../store/postgres/outbox/postgres-inbox.js';
import { isKey, LONGEST_KEY } from '../engine/payload/storable-key.js';
import { committed, TransactionWatch } from '../store/postgres/connection/transaction-watch.js';
import { MessagingRuntime } from './messaging.runtime.js';

/** What `Inbox.once()` takes beside the work. */
export interface OnceOptions {
  /** Who handles the message, where several do, each once: 1 to 255 characters. Default `'default'`. */
  consumer?: string;
}

/** What `Inbox.once()` came to: the work was done, with its result, or had been done before. */
export type Once<T> = { readonly handled: true; readonly result: T } | { readonly handled: false };

/** The journal of the messages that were handled. */
@Injectable()
export class Inbox {
  /** @hidden */
  constructor(@Inject(MessagingRuntime) private readonly runtime: MessagingRuntime) {}

  /**
   * Handles a message once: calls `work` unless this message was handled before, and notes it in the same transaction as
   * what `work` writes through the manager that it is given. When two deliveries of it arrive at once, the second waits
   * for the first, and is handled only if that fails. What `work` throws undoes both, and is thrown on.
   *
   * @param messageId 1 to 255 characters
   * @param manager in a transaction, this is part of it; otherwise it is given one of its own
   * @returns `{ handled: false }`: it was handled before
   * @throws SagaValidationError for an id or a consumer that cannot be stored
   * @throws SagaTransactionError when `work` caught the error of a statement, or ended the transaction: nothing is stored.
   * In a transaction of yours this holds for what happened before `once` returns; what aborts it later, only its commit
   * can tell you
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

/** Made again as long as its level keeps it from seeing that the message was noted since it began. */
async function ownTransaction<T>(transaction: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await transaction();
    } catch (error) {
      if (!(error instanceof NotedMeanwhile)) throw error;
    }
  }
}
