import { SagaTransactionError } from '../../../errors.js';
import { onePerPool, type PgClient, type PgPool } from './pg-types.js';
import type { Sql } from './sql.js';
import { concernsStatement } from './transient-errors.js';

/** The database, and its cluster: databases of several servers can have the same name. */
const HOME = `SELECT current_database() || ' of the server ' || (SELECT system_identifier FROM pg_control_system()) AS home`;
/** On servers that are compatible with PostgreSQL and have not this function. */
const HOME_BY_NAME = 'SELECT current_database()::text AS home';

type Ask = (text: string) => Promise<readonly { readonly home: string }[]>;

/**
 * The database in which the sagas of a pool are. A transaction of the application may be on a connection of another pool, and
 * so in another database, which may have tables of sagas as well. Each connection that is not of the pool is asked once.
 */
export class HomeDatabase {
  private text = HOME;
  private home: string | undefined;
  private takesAll = false;
  private readonly known = new WeakSet<object>();

  constructor(private readonly pool: PgPool) {}

  /** Asks for its name. Until then, every database is taken. */
  async learn(sql: Sql): Promise<void> {
    if (!this.takesAll) this.home ??= await this.ask(sql);
  }

  /** Takes transactions of every database from now on. With shards, the row of a shard tells where a transaction is. */
  takeAll(): void {
    this.takesAll = true;
    this.home = undefined;
  }

  /** Undefined: the connection is of this database, or it is not known. */
  require(client: object, ask: Ask): Promise<void> | undefined {
    if (this.home === undefined || this.known.has(client)) return undefined;
    if (this.pool._clients?.includes(client as PgClient)) return undefined;
    return this.requireHere(ask).then(() => void this.known.add(client));
  }

  /**
   * Asks in which database a transaction is.
   * @throws SagaTransactionError if it is another one
   */
  async requireHere(ask: Ask): Promise<void> {
    if (this.home === undefined) return;
    const [row] = await ask(this.text);
    if (row!.home === this.home) return;
    throw new SagaTransactionError(
      `The transaction that was given is in the database ${row!.home}, but the sagas are in ${this.home}. ` +
        `Give a transaction of the module's database.`,
    );
  }

  private async ask(sql: Sql): Promise<string> {
    const read = async (text: string) => (await sql.query<{ home: string }[]>(text))[0]!.home;
    return read(this.text).catch((error: unknown) => {
      if (!concernsStatement(error)) throw error;
      this.text = HOME_BY_NAME;
      return read(this.text);
    });
  }
}

export const homeOf = onePerPool((pool) => new HomeDatabase(pool));
