import type { SagaShardUnavailableError } from 'nestjs-durable-saga';
import type { JoinedTransaction, SagaDatabase, TransactionOpener } from 'nestjs-durable-saga/database';
import { MessagingDatabase, type MessagingParts } from './messaging-database.js';

/** The answers of databases, and an error for each one that cannot be reached. */
export interface DatabaseAnswers<T> {
  readonly answers: readonly T[];
  readonly unavailable: readonly SagaShardUnavailableError[];
}

/** The database of an application's messages, or its shards. */
export interface MessagingDatabases {
  /** The databases that could be reached since this process has started. */
  readonly all: readonly MessagingDatabase[];
  begin(): Promise<void>;
  drain(): Promise<void>;
  /**
   * Returns the statements of a transaction of the application.
   * @throws SagaTransactionError if it is no transaction of the layer
   */
  join(transaction: unknown): JoinedTransaction;
  /** Returns what opens a transaction on this object. Undefined: the object is a transaction itself. */
  opener(source: unknown): TransactionOpener | undefined;
  /**
   * Returns the database in which a transaction is open.
   * @throws SagaTransactionError if it is none of the application's shards
   */
  databaseOf(joined: JoinedTransaction): Promise<Pick<MessagingDatabase, 'outbox' | 'inbox'>>;
  /** Makes a call on each database. */
  ask<T>(call: (database: MessagingDatabase) => Promise<T>): Promise<DatabaseAnswers<T>>;
}

/** An application with one database. */
export class OneDatabase implements MessagingDatabases {
  readonly all: readonly [MessagingDatabase];

  constructor(private readonly one: MessagingDatabase) {
    this.all = [one];
  }

  static async over(database: SagaDatabase, parts: MessagingParts): Promise<OneDatabase> {
    return new OneDatabase(new MessagingDatabase(await MessagingDatabase.prepare(database, parts), parts));
  }

  begin(): Promise<void> {
    return this.one.begin();
  }

  drain(): Promise<void> {
    return this.one.drain();
  }

  join(transaction: unknown): JoinedTransaction {
    return this.one.database.join(transaction);
  }

  opener(source: unknown): TransactionOpener | undefined {
    return this.one.database.opener(source);
  }

  async databaseOf(): Promise<MessagingDatabase> {
    return this.one;
  }

  async ask<T>(call: (database: MessagingDatabase) => Promise<T>): Promise<DatabaseAnswers<T>> {
    return { answers: [await call(this.one)], unavailable: [] };
  }
}
