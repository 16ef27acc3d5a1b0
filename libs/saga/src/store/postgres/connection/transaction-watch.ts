import { SagaTransactionError } from '../../../errors.js';
import type { PgClient, PgPool } from './pg-types.js';
import type { JoinedTransaction, TransactionOpener } from './saga-database.js';
import type { Sql } from './sql.js';

/** What a connection is in after a statement, as PostgreSQL says in ReadyForQuery: idle, a transaction, a failed one. */
type Status = 'I' | 'T' | 'E';

const ABORTED = '25P02';
export const INSTEAD =
  'Do not catch the error, or run the statement that may fail in a nested transaction, which is a savepoint.';

/**
 * Follows the transaction of a connection by the messages that end each statement, and sends nothing for it. PostgreSQL
 * answers COMMIT of a transaction in which a statement has failed with ROLLBACK and without an error. So a method that
 * caught the statement's error would commit nothing and not notice.
 *
 * A driver without these messages (pg-native) is not followed. Then COMMIT is preceded by a statement that would fail.
 */
export class TransactionWatch {
  private status: Status | undefined;
  /** What aborted the transaction. */
  private cause: Error | undefined;
  private lastCommand = '';
  /** How the last transaction ended. */
  private end: string | undefined;
  /** Counts the transactions of the connection. */
  private transactions = 0;
  /** The number of the transaction that each object of a layer was used in first. */
  private readonly handles = new WeakMap<object, number>();

  /** The connection was closed, or is being closed by the server. */
  isLost = false;

  private constructor(private readonly connection: Connection | undefined) {
    connection?.on('end', () => (this.isLost = true));
    connection?.on('errorMessage', (error) => {
      // The server closes the connection after it.
      if (error.severity === 'FATAL') this.isLost = true;
      if (this.status === 'E') return;
      this.cause = error;
      // Its state may not have been shown yet: a connection is followed from within a transaction of a layer.
      if (this.status !== 'I') this.status = 'E';
    });
    connection?.on('commandComplete', ({ text }) => (this.lastCommand = text));
    connection?.on('readyForQuery', ({ status }) => {
      if (status === 'I' && this.status !== 'I') this.end = this.lastCommand;
      if (status === 'T') this.cause = this.end = undefined;
      if (status !== 'I' && (this.status === 'I' || this.status === undefined)) this.transactions += 1;
      this.status = status;
    });
  }

  /** The state of a transaction. Undefined: its connection is not shown. */
  static async of(transaction: JoinedTransaction): Promise<TransactionWatch | undefined> {
    const connection = await transaction.connection();
    return connection && TransactionWatch.on(connection);
  }

  static on(client: object): TransactionWatch {
    const connection = (client as Partial<PgClient>).connection as Connection | undefined;
    const watch = watches.get(connection ?? client) ?? new TransactionWatch(connection);
    watches.set(connection ?? client, watch);
    return watch;
  }

  /**
   * Follows each connection of a pool from its first transaction on, so that it is known whether it is in a transaction,
   * and what aborted the transaction.
   */
  static onAll(pool: PgPool): void {
    if (pools.has(pool)) return;
    pools.add(pool);
    for (const client of pool._clients ?? []) TransactionWatch.on(client);
    pool.on('connect', (client) => void TransactionWatch.on(client));
  }

  /** The connection is known to be in no transaction. */
  get isIdle(): boolean {
    return this.status === 'I';
  }

  /** The layer's object was used in an earlier transaction than that of this moment. */
  hasEnded(handle: object): boolean {
    const first = this.handles.get(handle);
    return first !== undefined && first !== this.transactions;
  }

  /** Notes that the layer's object stands for the transaction of this moment. */
  usedBy(handle: object): void {
    if (!this.handles.has(handle)) this.handles.set(handle, this.transactions);
  }

  /** Returns whether the transaction of this moment is still open. */
  follow(): () => boolean {
    const { transactions } = this;
    return () => this.transactions === transactions && !this.isIdle;
  }

  /**
   * @param what would be lost, as the beginning of a sentence
   * @throws SagaTransactionError when the transaction can no longer commit
   */
  async requireOpen(what: string, sql: Sql): Promise<void> {
    if (!this.connection) await asOpen(what, this, () => sql.query('SELECT 1'));
    if (this.status === 'E') throw this.aborted(what);
    if (this.status === 'I')
      throw new SagaTransactionError(
        `${what} is not stored: its transaction has already ended (${this.end ?? 'there is none'}). ` +
          `Do not run BEGIN, COMMIT or ROLLBACK in it.`,
      );
  }

  /** @throws SagaTransactionError when what was answered to COMMIT was ROLLBACK */
  requireCommitted(what: string): void {
    if (this.end === 'ROLLBACK') throw this.aborted(what);
  }

  /** Returns what happened to the connection if an error of the application comes from it. */
  errorBehind(error: unknown): Error | undefined {
    if (this.isLost) return LOST;
    return this.status === 'E' && this.cause && isReported(this.cause, error) ? this.cause : undefined;
  }

  aborted(what: string, error?: Error): SagaTransactionError {
    const cause = this.cause ?? error;
    const why = cause ? `: ${cause.message}` : '';
    if (this.isLost)
      return new SagaTransactionError(
        `${what} is not stored: the server closed the connection of its transaction${why}.${isIdleTimeout(cause) ? BE_QUICK : ''}`,
        { cause },
      );
    return new SagaTransactionError(
      `${what} is not stored: a statement of its transaction failed, and the error was caught${why}. ` +
        `PostgreSQL rolls back such a transaction even on COMMIT. ${INSTEAD}`,
      { cause },
    );
  }
}

const LOST = new Error('Connection terminated');

/** idle_in_transaction_session_timeout */
const isIdleTimeout = (error: Error | undefined): boolean =>
  (error as { code?: unknown } | undefined)?.code === '25P03';
const BE_QUICK =
  ' Between two statements, the transaction may not wait longer than idle_in_transaction_session_timeout. Do slow work in ' +
  'a step before, or raise the setting.';

/** Whether an error is, wraps or repeats the error of a statement: database layers throw errors of their own. */
function isReported(cause: Error, error: unknown, depth = 0): boolean {
  if (error === cause) return true;
  if (typeof error !== 'object' || error === null || depth > 4) return false;
  try {
    const { message, cause: inner, driverError } = error as Error & { readonly driverError?: unknown };
    if (typeof message === 'string' && cause.message !== '' && message.includes(cause.message)) return true;
    return [inner, driverError].some((one) => isReported(cause, one, depth + 1));
  } catch {
    // A getter of a proxy threw.
    return false;
  }
}

const pools = new WeakSet<PgPool>();
const watches = new WeakMap<object, TransactionWatch>();

/** The part of pg's Connection that is used: it emits each message of the server by its name. */
interface Connection {
  on(event: 'end', listener: () => void): unknown;
  on(event: 'errorMessage', listener: (error: Error & { readonly severity?: string }) => void): unknown;
  on(event: 'commandComplete', listener: (message: { readonly text: string }) => void): unknown;
  on(event: 'readyForQuery', listener: (message: { readonly status: Status }) => void): unknown;
}

/** Whether PostgreSQL refused a statement because an earlier one of its transaction had failed. */
export function isAborted(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === ABORTED;
}

/**
 * Sends something in a transaction of the caller's.
 * @throws SagaTransactionError when that is aborted already
 */
export async function sendWithin<T>(
  transaction: JoinedTransaction,
  what: string,
  send: () => Promise<T>,
): Promise<T> {
  return asOpen(what, await TransactionWatch.of(transaction), send);
}

async function asOpen<T>(
  what: string,
  watch: TransactionWatch | undefined,
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!watch || !isAborted(error)) throw error;
    throw watch.aborted(what, error as Error);
  }
}

/**
 * Runs work in a transaction of its own and commits it.
 * @param join gives the statements of the transaction
 * @param what is lost if it is not committed, as the beginning of a sentence
 * @throws SagaTransactionError when it was rolled back instead, since the work caught the error of a statement
 */
export async function committed<T, Tx>(
  open: TransactionOpener<Tx>,
  join: (transaction: Tx) => JoinedTransaction,
  what: string,
  work: (transaction: Tx, joined: JoinedTransaction) => Promise<T>,
): Promise<T> {
  let watch: TransactionWatch | undefined;
  const result = await open(async (transaction) => {
    const joined = join(transaction);
    watch = await TransactionWatch.of(joined);
    const worked = await work(transaction, joined);
    await watch?.requireOpen(what, joined);
    return worked;
  });
  watch?.requireCommitted(what);
  return result;
}
