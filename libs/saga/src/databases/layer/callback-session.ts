import { once, type PromiseParts } from './promise-parts.js';
import type { PgClient } from '../../store/postgres/connection/pg-types.js';
import type { DatabaseSession, TransactionOpener } from '../../store/postgres/connection/saga-database.js';

/** Rolls a transaction back. Never leaves this module. */
class RolledBack extends Error {}

/**
 * The transaction of a step, which the database layer opens, commits and rolls back itself. Layers run a function in a
 * transaction. The function of this class waits until the step has ended.
 */
export class CallbackSession<Tx> implements DatabaseSession<Tx> {
  private handle: { readonly transaction: Tx } | undefined;
  /** Resolves when the transaction has ended. */
  private over: Promise<void> | undefined;
  private readonly end: PromiseParts<void> = once();

  constructor(
    private readonly open: TransactionOpener<Tx>,
    private readonly clientOf: (transaction: Tx) => PgClient | Promise<PgClient>,
  ) {}

  get transaction(): Tx {
    return this.handle!.transaction;
  }

  /** Opens the transaction as well. */
  async connect(): Promise<PgClient> {
    const opened = once<PgClient>();
    this.over = this.open(async (transaction) => {
      this.handle = { transaction };
      opened.resolve(await this.clientOf(transaction));
      await this.end.promise;
    });
    // If the layer cannot open it.
    this.over.catch(opened.reject);
    return opened.promise;
  }

  async begin(): Promise<void> {}

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
  }
}
