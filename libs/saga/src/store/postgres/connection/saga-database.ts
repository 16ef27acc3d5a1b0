import type { EntityManager } from 'typeorm';
import type { PgClient, PgPool } from './pg-types.js';
import type { Sql } from './sql.js';

/**
 * A PostgreSQL database as an application's database layer gives it to this package. The functions of the entries make
 * one: `pgDatabase(pool)` of `nestjs-durable-saga/pg`, for example. TypeORM is the default and needs none.
 *
 * `Tx` is the type of the layer's transaction: what `ctx.transaction` is, and what `start(…, { transaction })` takes.
 */
export interface SagaDatabase<Tx = unknown> {
  /** The name of the layer, for error messages. */
  readonly name: string;
  /** The connections, which the application opens and closes. Statements of sagas borrow them one at a time. */
  readonly pool: PgPool;
  /** How to set the maximum of the pool, for an error message. */
  readonly poolSetting: string;
  /** Receives the statements of sagas without their values. Default: none are logged. */
  readonly logger?: StatementLogger;
  /** Opens the transaction of a transactional step. */
  session(): DatabaseSession<Tx>;
  /**
   * Returns the statements of a transaction that the application has open.
   * @throws SagaTransactionError if it is no transaction of this layer
   */
  join(transaction: unknown): JoinedTransaction;
  /** Returns what opens a transaction on this object. Undefined: the object is a transaction itself. */
  opener(source: unknown): TransactionOpener<Tx> | undefined;
  /**
   * Requires that the layer's own tools leave the tables of a schema alone. Default: they do.
   * @throws SagaConfigurationError if they would drop the tables of sagas
   */
  requireSchema?(schema: string): void;
  /** Returns `ctx.manager` of a transaction. Default: it is undefined. */
  managerOf?(transaction: Tx): EntityManager | undefined;
  /** Returns the error of a statement as the layer throws it. Default: pg's error. */
  failure?(text: string, error: Error): Error;
}

/** Runs work in a transaction. Commits if the work succeeds, and rolls back if it fails. */
export type TransactionOpener<Tx = unknown> = <T>(work: (transaction: Tx) => Promise<T>) => Promise<T>;

/** The transaction of a transactional step, on one connection of the pool. */
export interface DatabaseSession<Tx = unknown> {
  /** Takes a connection of the pool. */
  connect(): Promise<PgClient>;
  /** The layer's own transaction on this connection. */
  readonly transaction: Tx;
  /** Opens the transaction. */
  begin(): Promise<unknown>;
  /** Sends what the layer has gathered, when the step's method has ended. Default: it gathers nothing. */
  flush?(): Promise<unknown>;
  /** Commits the transaction. */
  commit(): Promise<unknown>;
  /** Rolls the transaction back. Does nothing if none is open. */
  rollback(): Promise<unknown>;
  /** Returns the connection to the pool. */
  release(): Promise<void> | void;
}

/** A transaction of the application in which statements of sagas run. */
export interface JoinedTransaction extends Sql {
  /** The connection, whose protocol messages are followed. Undefined: the transaction does not show it. */
  connection(): Promise<object | undefined>;
  /** Returns whether the transaction is still open. Undefined: it is not known. */
  follow?(): (() => boolean) | undefined;
}

/** Receives statements without their values. */
export interface StatementLogger {
  /** Receives a statement before it is sent. */
  logQuery(text: string): void;
  /** Receives a statement that failed, and its error without values. */
  logQueryError(error: Error, text: string): void;
  /**
   * Receives a slow statement.
   * @param time in ms
   */
  logQuerySlow?(time: number, text: string): void;
  /** Statements that take longer (ms) are slow. Undefined: none are. */
  readonly slowAfter?: number;
  /** Receives a line for each migration that was applied. */
  logMigration?(message: string): void;
}
