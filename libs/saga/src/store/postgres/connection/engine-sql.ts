import type { JoinedTransaction, TransactionOpener, SagaDatabase, StatementLogger } from './saga-database.js';
import { BEGIN, IS_PLAIN, type Isolation, isolationOf } from './isolation.js';
import { OWN_TYPES } from './own-types.js';
import type { PgClient, PgPool, ReleaseClient } from './pg-types.js';
import { withoutParameters } from './redact-message.js';
import type { Sql } from './sql.js';
import { type StatementWatchdog, watchdogOf } from './statement-watchdog.js';
import { committed } from './transaction-watch.js';
import { asEngineFailure, spoilsConnection } from './transient-errors.js';

/** The engine's own statements, each its own transaction on a connection of the application's pool. */
export class EngineSql implements Sql {
  readonly pool: PgPool;
  readonly logger: StatementLogger | undefined;
  readonly watchdog: StatementWatchdog;
  readonly isolation: Isolation;

  constructor(readonly database: SagaDatabase) {
    const { pool, logger } = database;
    this.pool = pool;
    this.logger = logger;
    this.watchdog = watchdogOf(pool);
    this.isolation = isolationOf(pool);
  }

  async query<Rows = unknown>(text: string, parameters?: unknown[]): Promise<Rows> {
    const connection = await this.connect();
    try {
      return await connection.query<Rows>(text, parameters);
    } finally {
      connection.release();
    }
  }

  /** A connection for several statements, which the caller releases. */
  connect(): Promise<EngineConnection> {
    return new Promise((resolve, reject) => {
      this.watchdog.connect((error, client, release) => {
        if (error) reject(error);
        else resolve(new EngineConnection(client, release, this));
      });
    });
  }

  /** Commits if the work succeeds, and rolls back if it fails. */
  async transaction<T>(work: (sql: EngineConnection) => Promise<T>): Promise<T> {
    const connection = await this.connect();
    try {
      connection.isInTransaction = true;
      await connection.query(BEGIN);
      const result = await work(connection);
      await connection.query('COMMIT');
      return result;
    } catch (error) {
      await connection.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      connection.release();
    }
  }

  /**
   * Runs work in a transaction of its own and commits it.
   * @param what is lost if it is not committed, as the beginning of a sentence
   * @throws SagaTransactionError when it was rolled back instead, since the work caught the error of a statement
   */
  commit<T>(what: string, work: (sql: EngineConnection) => Promise<T>): Promise<T> {
    const open: TransactionOpener<EngineConnection> = (within) => this.transaction(within);
    return committed(open, (connection) => connection, what, work);
  }

  /** The error of a statement, as the application's database layer throws its own. */
  failure(text: string, error: Error): Error {
    const failure = withoutParameters(error);
    return this.database.failure?.(text, failure) ?? failure;
  }
}

/**
 * A connection of the application's pool as the engine uses it. Its statements have a bounded time, run at the engine's
 * isolation level, and are read by the engine's own parsers.
 */
export class EngineConnection implements JoinedTransaction {
  /** The statements of this connection may take this many times as long. */
  timeoutFactor = 1;
  /** The statements of this connection are part of one transaction, which has named its level. */
  isInTransaction = false;
  private isReleased = false;
  /** Why the connection is not used again. */
  private failure: Error | undefined;
  private readonly lost = (error?: Error): void => this.release(error);

  constructor(
    private readonly client: PgClient,
    private readonly giveBack: ReleaseClient,
    private readonly sql: EngineSql,
  ) {
    client.on('error', this.lost);
  }

  async query<Rows = unknown>(text: string, parameters?: unknown[]): Promise<Rows> {
    if (this.isReleased) throw new Error('Connection terminated before the statement was sent');
    const { logger } = this.sql;
    logger?.logQuery(text);
    const began = logger?.slowAfter === undefined ? 0 : Date.now();
    try {
      const { rows } = await this.send(text, parameters);
      if (logger?.slowAfter !== undefined && Date.now() - began > logger.slowAfter)
        logger.logQuerySlow?.(Date.now() - began, text);
      return rows as Rows;
    } catch (error) {
      logger?.logQueryError(withoutParameters(error as Error), text);
      const failure = asEngineFailure(this.sql.failure(text, error as Error));
      if (spoilsConnection(failure)) this.failure = failure;
      throw failure;
    }
  }

  async connection(): Promise<object> {
    return this.client;
  }

  /**
   * Returns the connection to the pool, which closes it after an answer that spoils it.
   * @param error why the connection cannot be used any more
   */
  release(error: Error | undefined = this.failure): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.client.removeListener('error', this.lost);
    this.giveBack(error);
  }

  private send(text: string, values: unknown[] | undefined): Promise<{ rows: unknown[] }> {
    const { watchdog, isolation } = this.sql;
    const statement = { text, values, types: OWN_TYPES };
    const send = () => watchdog.watch(this.client, this.client.query(statement), this.timeoutFactor);
    const isAlone = !this.isInTransaction && IS_PLAIN.test(text);
    return isAlone ? isolation.alone(this.client, watchdog, send) : send();
  }
}
