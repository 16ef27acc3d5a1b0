import { homeOf } from '../../store/postgres/connection/home-database.js';
import { PoolDatabase } from '../../store/postgres/connection/pool-database.js';
import type { PgClient, PgPool } from '../../store/postgres/connection/pg-types.js';
import type { DatabaseSession, JoinedTransaction } from '../../store/postgres/connection/saga-database.js';
import { isPostgresJsTransaction, type PostgresJsClient } from './postgres-js-client.js';
import { PostgresJsTransaction } from './postgres-js-transaction.js';
import { SqlOnClient } from './sql-on-client.js';

/** How the application opens a transaction of Drizzle. */
export const FIX = 'Give the transaction of db.transaction(async (tx) => …).';

/** What Drizzle's databases and transactions have, and their types do not show. */
interface WithSession {
  readonly session?: Session;
}

/** Drizzle's session, which sends the statements. */
interface Session {
  readonly client: unknown;
  readonly dialect: unknown;
  readonly schema: unknown;
  readonly options: unknown;
  readonly constructor: new (client: unknown, dialect: unknown, schema: unknown, options: unknown) => Session;
  transaction(work: (transaction: object) => Promise<void>): Promise<unknown>;
}

/**
 * The database of an application that uses Drizzle over postgres.js. The application opens transactions with postgres.js,
 * and the engine joins them. The engine's own statements, and the transactions of steps, are on connections of pg.
 */
export class PostgresJsDatabase<Tx extends object> extends PoolDatabase<Tx> {
  readonly name = 'Drizzle';
  protected readonly transactionFix = FIX;
  private types: PromiseLike<unknown> | undefined;

  constructor(
    pool: PgPool,
    private readonly db: object,
    private readonly client: PostgresJsClient,
    readonly poolSetting: string,
  ) {
    super(pool, db);
  }

  override session(): DatabaseSession<Tx> {
    const session = super.session();
    const connect = session.connect.bind(session);
    session.connect = async () => {
      await this.readTypes();
      return connect();
    };
    return session;
  }

  override join(transaction: unknown): JoinedTransaction {
    const client = clientIn(transaction);
    return isPostgresJsTransaction(client)
      ? new PostgresJsTransaction(client, homeOf(this.pool), FIX)
      : super.join(transaction);
  }

  /** postgres.js reads the types of arrays when it connects first. Until then it has no parsers for them. */
  private async readTypes(): Promise<void> {
    this.types ??= this.client.unsafe('SELECT 1');
    try {
      await this.types;
    } catch {
      // The next transaction tries it again.
      this.types = undefined;
    }
  }

  protected clientOf(transaction: unknown): PgClient | undefined {
    const client = clientIn(transaction);
    return client instanceof SqlOnClient ? client.client : undefined;
  }

  /** Drizzle makes the transaction of what its client calls it with. */
  protected bind(client: PgClient): Tx {
    const { options: settings } = this.client;
    const { constructor: OfDrizzle, dialect, schema, options } = (this.db as WithSession).session!;
    const begin = (work: (sql: SqlOnClient) => Promise<void>) => work(new SqlOnClient(client, settings));
    let made: object | undefined;
    const session = new OfDrizzle({ begin, options: settings }, dialect, schema, options);
    void session.transaction(async (transaction) => void (made = transaction));
    return made as Tx;
  }
}

function clientIn(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return undefined;
  try {
    return (given as WithSession).session?.client;
  } catch {
    // A getter of a proxy threw.
    return undefined;
  }
}
