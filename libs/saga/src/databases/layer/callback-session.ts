import type { PgClient, PgPool, ReleaseClient } from '../../store/postgres/connection/pg-types.js';
import type { DatabaseSession, TransactionOpener } from '../../store/postgres/connection/saga-database.js';
import { TransactionWatch } from '../../store/postgres/connection/transaction-watch.js';

/** How a layer opens a transaction, and what is known of it. */
interface SessionLayer<Tx> {
  readonly open: TransactionOpener<Tx>;
  readonly pool: PgPool;
  flush?(transaction: Tx): Promise<unknown>;
}

/** Rolls a transaction back. Never leaves this module. */
class RolledBack extends Error {}

/**
 * The transaction of a step, which the database layer opens, commits and rolls back itself. Layers run a function in a
 * transaction. The function of this class waits until the step has ended.
 */
export class CallbackSession<Tx> implements DatabaseSession<Tx> {
  private client: PgClient | undefined;
  private handle: { readonly transaction: Tx } | undefined;
  /** Resolves when the transaction has ended. */
  private over: Promise<void> | undefined;
  private readonly end: PromiseParts<void> = once();

  constructor(
    private readonly layer: SessionLayer<Tx>,
    private readonly clientOf: (transaction: Tx) => PgClient | Promise<PgClient>,
  ) {}

  get transaction(): Tx {
    return this.handle!.transaction;
  }

  /** Opens the transaction as well. */
  async connect(): Promise<PgClient> {
    const opened = once<PgClient>();
    this.over = this.layer.open(async (transaction) => {
      this.handle = { transaction };
      this.client = await this.clientOf(transaction);
      opened.resolve(this.client);
      await this.end.promise;
    });
    // If the layer cannot open it.
    this.over.catch(opened.reject);
    return opened.promise;
  }

  async begin(): Promise<void> {}

  async flush(): Promise<void> {
    await this.layer.flush?.(this.transaction);
  }

  commit(): Promise<void> {
    this.end.resolve();
    return this.over!;
  }

  async rollback(): Promise<void> {
    this.end.reject(new RolledBack());
    await this.over?.catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
  }

  /** A transaction that may be open is rolled back. */
  async release(): Promise<void> {
    await this.rollback().catch(() => undefined);
    if (this.client) releaseLost(this.layer.pool, this.client);
  }
}

/** A promise, and what settles it. */
interface PromiseParts<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns a promise whose rejection may stay without a handler. */
function once<T>(): PromiseParts<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((...parts) => ([resolve, reject] = parts));
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/**
 * Returns a connection that was lost in a transaction to its pool of pg, if the layer did not. A ControlledTransaction of
 * Kysely, which MikroORM 7 uses, keeps the connection of a transaction that it cannot roll back, for ever.
 */
function releaseLost(pool: PgPool, client: PgClient & { readonly release?: ReleaseClient }): void {
  if (TransactionWatch.on(client).isLost && pool._clients?.includes(client)) client.release?.(true);
}
