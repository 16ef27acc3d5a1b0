import { Inject, Injectable } from '@nestjs/common';
import { SagaValidationError } from 'nestjs-durable-saga';
import type { JoinedTransaction } from 'nestjs-durable-saga/database';
import {
  OptionReader,
  type OptionTable,
  reportedOptions,
  withDefault,
  withoutProblems,
} from 'nestjs-durable-saga/internal';
import { NotedMeanwhile, TransactionWatch, committed, key } from 'nestjs-durable-saga/internal/runtime';
import { MessagingRuntime } from './messaging.runtime.js';

/** Options of `Inbox.once()`. */
export interface OnceOptions {
  /** The consumer of the message, 1 to 255 characters. Each consumer handles a message once. Default: `'default'`. */
  consumer?: string;
}

const ONCE_OPTIONS = { consumer: withDefault(key, 'default') } satisfies OptionTable<OnceOptions>;

/** The result of `Inbox.once()`: the work's result, or `handled: false` if the message had already been handled. */
export type Once<T> = { readonly handled: true; readonly result: T } | { readonly handled: false };

/** Records handled messages, so that each is handled once. */
@Injectable()
export class Inbox {
  /** @hidden */
  constructor(@Inject(MessagingRuntime) private readonly runtime: MessagingRuntime) {}

  /**
   * Handles a message once. Calls `work` unless this message has been handled before, and records the message in the
   * same transaction as the writes of `work`. If two deliveries arrive concurrently, the second
   * waits for the first, and is handled only if the first fails. An error of `work` rolls back both and is thrown.
   *
   * @param messageId 1 to 255 characters
   * @param transaction a transaction, such as an EntityManager of TypeORM in one, which then includes the work. With a
   * manager outside of a transaction, or what the module's database was made of, a transaction is opened
   * @returns `{ handled: false }` if the message has been handled before
   * @throws SagaValidationError for an id or a consumer that cannot be stored
   * @throws SagaTransactionError if `work` caught the error of a statement, or ended the transaction; then nothing is
   * stored
   */
  once<T, Tx extends object, Own = Tx>(
    messageId: string,
    transaction: Tx,
    work: (transaction: Own) => Promise<T> | T,
    options?: OnceOptions,
  ): Promise<Once<T>>;
  /**
   * Handles a message once in the transaction that is open in the context of the call:
   * `SagaModule.forRoot({ ambient })`.
   * @throws SagaTransactionError if none is open
   */
  once<T, Own = never>(
    messageId: string,
    work: (transaction: Own) => Promise<T> | T,
    options?: OnceOptions,
  ): Promise<Once<T>>;
  async once<T, Own>(messageId: string, ...given: readonly unknown[]): Promise<Once<T>> {
    // A transaction may be a function, too.
    const isAmbient = typeof given[1] !== 'function';
    const [transaction, work, options] = (
      isAmbient ? [this.runtime.ambientTransaction('once'), ...given] : given
    ) as [object, (transaction: Own) => Promise<T> | T, OnceOptions?];
    return this.handleOnce(messageId, transaction, work, options);
  }

  private async handleOnce<T, Own>(
    messageId: string,
    transaction: object,
    work: (transaction: Own) => Promise<T> | T,
    options: OnceOptions | undefined,
  ): Promise<Once<T>> {
    const consumer = withoutProblems('once()', SagaValidationError, (report) => {
      if (messageId === '')
        report(
          "messageId is ''",
          "The message has no id: its sender has to set one in the header 'id'. Otherwise give a value that identifies it",
        );
      else key.read(messageId, 'messageId', new OptionReader(report));
      return reportedOptions(ONCE_OPTIONS, options, report).consumer;
    });
    const { databases } = await this.runtime.ready();
    const what = `Message '${messageId}'`;
    const within = async (own: unknown, joined: JoinedTransaction): Promise<Once<T>> => {
      const { inbox } = await databases.databaseOf(joined);
      if (!(await inbox.isNew(joined, consumer, messageId))) return { handled: false };
      return { handled: true, result: await work(own as Own) };
    };
    const open = databases.opener(transaction);
    if (open) return ownTransaction(() => committed(open, (own) => databases.join(own), what, within));
    const joined = databases.join(transaction);
    const watch = await TransactionWatch.of(joined);
    const once = await within(transaction, joined);
    await watch?.requireOpen(what, joined);
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
