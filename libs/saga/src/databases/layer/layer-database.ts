import { ClientTransaction, transactionEnded } from '../../store/postgres/connection/client-transaction.js';
import { wrongTransaction } from '../../store/postgres/connection/name-of-layer.js';
import type { PgClient, PgPool } from '../../store/postgres/connection/pg-types.js';
import type {
  DatabaseSession,
  JoinedTransaction,
  SagaDatabase,
  TransactionOpener,
} from '../../store/postgres/connection/saga-database.js';
import { CallbackSession } from './callback-session.js';

/** What an adapter knows of its layer. */
export interface LayerParts<Tx extends object> {
  readonly name: string;
  readonly pool: PgPool;
  readonly poolSetting: string;
  /** What the application opens transactions on. */
  readonly sources: readonly unknown[];
  /** How the application opens a transaction, as a sentence. */
  readonly fix: string;
  open: TransactionOpener<Tx>;
  isTransaction(given: object): given is Tx;
  /** What stands for a transaction, and for no other one. Default: the transaction. */
  handleOf?(transaction: Tx): object;
  /** The layer knows that a transaction has ended. Default: the layer does not know. */
  hasEnded?(transaction: Tx): boolean;
  /** Finds the connection of a transaction. */
  clientOf(transaction: Tx): PgClient | Promise<PgClient>;
  /**
   * Works as `SagaDatabase.requireSchema`. Default: the layer's tools leave all schemas alone that are not the
   * application's.
   */
  requireSchema?(schema: string): void;
  /** Sends what the layer has gathered in a transaction. Default: it gathers nothing. */
  flush?(transaction: Tx): Promise<unknown>;
}

/** A database layer that opens its transactions itself. */
export class LayerDatabase<Tx extends object> implements SagaDatabase<Tx> {
  readonly name: string;
  readonly pool: PgPool;
  readonly poolSetting: string;
  /** The connections of transactions, by their handles: each takes time to find, and is found once. */
  private readonly clients = new WeakMap<object, PgClient | Promise<PgClient>>();

  constructor(private readonly parts: LayerParts<Tx>) {
    this.name = parts.name;
    this.pool = parts.pool;
    this.poolSetting = parts.poolSetting;
  }

  session(): DatabaseSession<Tx> {
    return new CallbackSession(this.parts, (transaction) => this.clientOf(transaction));
  }

  join(transaction: unknown): JoinedTransaction {
    const { parts } = this;
    if (!isObject(transaction) || !isOne(parts, transaction))
      throw wrongTransaction(transaction, parts.name, parts.fix);
    const { pool, fix } = parts;
    if (parts.hasEnded?.(transaction)) throw transactionEnded(fix);
    const handle = this.handleOf(transaction);
    return new ClientTransaction(() => this.clientOf(transaction), { pool, handle, fix });
  }

  requireSchema(schema: string): void {
    this.parts.requireSchema?.(schema);
  }

  opener(source: unknown): TransactionOpener<Tx> | undefined {
    return this.parts.sources.includes(source) ? this.parts.open : undefined;
  }

  private handleOf(transaction: Tx): object {
    return this.parts.handleOf?.(transaction) ?? transaction;
  }

  private clientOf(transaction: Tx): PgClient | Promise<PgClient> {
    const handle = this.handleOf(transaction);
    const known = this.clients.get(handle);
    if (known) return known;
    const found = this.parts.clientOf(transaction);
    this.clients.set(handle, found);
    if ('then' in found)
      found.then(
        (client) => this.clients.set(handle, client),
        () => this.clients.delete(handle),
      );
    return found;
  }
}

function isObject(given: unknown): given is object {
  return (typeof given === 'object' && given !== null) || typeof given === 'function';
}

function isOne<Tx extends object>(parts: LayerParts<Tx>, given: object): given is Tx {
  try {
    return parts.isTransaction(given);
  } catch {
    // A getter of a proxy threw.
    return false;
  }
}
