import type { PgClient, PgPool, ReleaseClient } from './pg-types.js';
import type { DatabaseSession } from './saga-database.js';

/** A transaction on a connection that the pool lends. */
export class ClientSession<Tx> implements DatabaseSession<Tx> {
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

/** Runs work in such a transaction. */
export async function inSession<Tx, T>(
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
