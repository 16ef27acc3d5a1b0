import { ClientTransaction } from './client-transaction.js';
import { wrongTransaction } from './name-of-layer.js';
import type { PgClient, PgPool, ReleaseClient } from './pg-types.js';
import type { DatabaseSession, JoinedTransaction, TransactionOpener, SagaDatabase } from './saga-database.js';
import { TransactionWatch } from './transaction-watch.js';

/** A database layer over a pool of pg: all of it but what its transactions are. */
export abstract class PoolDatabase<Tx> implements SagaDatabase<Tx> {
  abstract readonly name: string;
  abstract readonly poolSetting: string;
  /** How the application opens a transaction, and gives it to a call of this package. */
  protected abstract readonly transactionFix: string;

  constructor(
    readonly pool: PgPool,
    /** What the application opens transactions on. */
    private readonly source: unknown,
  ) {
    TransactionWatch.onAll(pool);
  }

  /** The connection of a transaction of this layer. Undefined: the object is no such transaction. */
  protected abstract clientOf(transaction: unknown): PgClient | undefined;

  /** The layer's transaction on a connection on which BEGIN has run. */
  protected abstract bind(client: PgClient): Tx;

  session(): DatabaseSession<Tx> {
    return new ClientSession(this.pool, (client) => this.bind(client));
  }

  join(transaction: unknown): JoinedTransaction {
    const client = this.clientOf(transaction);
    // A client of pg is lent again and again, and stands for each of its transactions.
    const handle = client === transaction ? undefined : (transaction as object);
    const given = { pool: this.pool, handle, fix: this.transactionFix };
    if (client) return new ClientTransaction(() => client, given);
    throw wrongTransaction(transaction, this.name, this.transactionFix);
  }

  opener(source: unknown): TransactionOpener<Tx> | undefined {
    return source === this.source ? (work) => inSession(this.session(), work) : undefined;
  }
}

/** A transaction on a connection that the pool lends. */
class ClientSession<Tx> implements DatabaseSession<Tx> {
  private client: PgClient | undefined;
  private giveBack: ReleaseClient = () => undefined;
  private handle: { readonly transaction: Tx } | undefined;
  private isOpen = false;
  /** Why the connection cannot be used any more. */
  private failure: Error | undefined;
  private readonly lost = (error?: Error): void => {
    this.failure ??= error ?? new Error('Connection terminated');
  };

  /** @param bind gives the database layer's transaction on the connection */
  constructor(
    private readonly pool: PgPool,
    private readonly bind: (client: PgClient) => Tx,
  ) {}

  get transaction(): Tx {
    this.handle ??= { transaction: this.bind(this.client!) };
    return this.handle.transaction;
  }

  connect(): Promise<PgClient> {
    return new Promise((resolve, reject) => {
      this.pool.connect((error, client, release) => {
        if (error) return reject(error);
        this.client = client;
        this.giveBack = release;
        client.on('error', this.lost);
        resolve(client);
      });
    });
  }

  async begin(): Promise<void> {
    await this.client!.query('BEGIN');
    this.isOpen = true;
  }

  async commit(): Promise<void> {
    await this.client!.query('COMMIT');
    this.isOpen = false;
  }

  async rollback(): Promise<void> {
    if (!this.isOpen) return;
    this.isOpen = false;
    try {
      await this.client!.query('ROLLBACK');
    } catch (error) {
      this.failure ??= error as Error;
      throw error;
    }
  }

  release(): void {
    this.client?.removeListener('error', this.lost);
    // A transaction that may be open ends with its connection.
    const failure = this.failure ?? (this.isOpen ? new Error('The transaction was not ended') : undefined);
    this.giveBack(failure);
  }
}

/** Runs work in the transaction of a session. */
async function inSession<Tx, T>(
  session: DatabaseSession<Tx>,
  work: (transaction: Tx) => Promise<T>,
): Promise<T> {
  await session.connect();
  try {
    await session.begin();
    const result = await work(session.transaction);
    await session.commit();
    return result;
  } catch (error) {
    await session.rollback().catch(() => undefined);
    throw error;
  } finally {
    await session.release();
  }
}
