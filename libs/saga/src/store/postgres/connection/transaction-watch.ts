import type { EntityManager } from 'typeorm';
import { SagaTransactionError } from '../../../errors.js';
import type { PgClient } from './pg-types.js';

/** What a connection is in after a statement, as PostgreSQL says in ReadyForQuery: idle, a transaction, a failed one. */
type Status = 'I' | 'T' | 'E';

const ABORTED = '25P02';
const INSTEAD =
  'Do not catch the error, or run the statement that may fail in a nested transaction (manager.transaction(…)), ' +
  'which is a savepoint.';

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

  private constructor(private readonly connection: Connection | undefined) {
    connection?.on('errorMessage', (error) => {
      if (this.status === 'E') return;
      this.cause = error;
      if (this.status === 'T') this.status = 'E';
    });
    connection?.on('commandComplete', ({ text }) => (this.lastCommand = text));
    connection?.on('readyForQuery', ({ status }) => {
      if (status === 'I' && this.status !== 'I') this.end = this.lastCommand;
      if (status === 'T') this.cause = this.end = undefined;
      this.status = status;
    });
  }

  /** The transaction state of the connection that a manager uses. Undefined: it is in no transaction. */
  static async of({ queryRunner }: EntityManager): Promise<TransactionWatch | undefined> {
    return queryRunner?.connect && TransactionWatch.on((await queryRunner.connect()) as PgClient);
  }

  static on(client: object): TransactionWatch {
    const connection = (client as Partial<PgClient>).connection as Connection | undefined;
    const watch = watches.get(connection ?? client) ?? new TransactionWatch(connection);
    watches.set(connection ?? client, watch);
    return watch;
  }

  /**
   * @param what would be lost, as the beginning of a sentence
   * @throws SagaTransactionError when the transaction can no longer commit
   */
  async requireOpen(what: string, manager: Pick<EntityManager, 'query'>): Promise<void> {
    if (!this.connection) await asOpen(what, this, () => manager.query('SELECT 1'));
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

  aborted(what: string, error?: Error): SagaTransactionError {
    const cause = this.cause ?? error;
    const why = cause ? `: ${cause.message}` : '';
    return new SagaTransactionError(
      `${what} is not stored: a statement of its transaction failed, and the error was caught${why}. ` +
        `PostgreSQL rolls back such a transaction even on COMMIT. ${INSTEAD}`,
      { cause },
    );
  }
}

const watches = new WeakMap<object, TransactionWatch>();

/** The part of pg's Connection that is used: it emits each message of the server by its name. */
interface Connection {
  on(event: 'errorMessage', listener: (error: Error) => void): unknown;
  on(event: 'commandComplete', listener: (message: { readonly text: string }) => void): unknown;
  on(event: 'readyForQuery', listener: (message: { readonly status: Status }) => void): unknown;
}

/**
 * Sends something in a transaction of the caller's.
 * @throws SagaTransactionError when that is aborted already
 */
export async function sendWithin<T>(
  manager: EntityManager,
  what: string,
  send: () => Promise<T>,
): Promise<T> {
  return asOpen(what, await TransactionWatch.of(manager), send);
}

async function asOpen<T>(
  what: string,
  watch: TransactionWatch | undefined,
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!watch || (error as { code?: unknown }).code !== ABORTED) throw error;
    throw watch.aborted(what, error as Error);
  }
}

/**
 * Runs work in a transaction of its own and commits it.
 * @param what is lost if it is not committed, as the beginning of a sentence
 * @throws SagaTransactionError when it was rolled back instead, since the work caught the error of a statement
 */
export async function committed<T>(
  owner: Pick<EntityManager, 'transaction'>,
  what: string,
  work: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  let watch: TransactionWatch | undefined;
  const result = await owner.transaction(async (manager) => {
    watch = await TransactionWatch.of(manager);
    const worked = await work(manager);
    await watch?.requireOpen(what, manager);
    return worked;
  });
  watch?.requireCommitted(what);
  return result;
}
