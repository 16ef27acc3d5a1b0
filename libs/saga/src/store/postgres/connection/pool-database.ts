import { ClientSession, inSession } from './client-session.js';
import { ClientTransaction } from './client-transaction.js';
import { wrongTransaction } from './name-of-layer.js';
import type { PgClient, PgPool } from './pg-types.js';
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
