import type { StoredShard } from '../../../engine/ports/stored-shard.js';
import type { EngineSql } from '../connection/engine-sql.js';
import type { JoinedTransaction } from '../connection/saga-database.js';
import type { Sql } from '../connection/sql.js';

const COLUMNS = 'name, number, founders, accepting, changed_at IS NOT NULL AS changed';

/** The row in which a database keeps its name and its number among the shards of an application. */
export class PostgresShardRow {
  private readonly table: string;

  constructor(
    private readonly sql: EngineSql,
    private readonly schema: string,
  ) {
    this.table = `"${schema}".shard`;
  }

  /** Undefined: the database has never been a shard. */
  async read(): Promise<StoredShard | undefined> {
    return rowOf(this.sql, this.table);
  }

  /** Stores the row, unless there is one. */
  async register({ name, number, founders, accepting }: Omit<StoredShard, 'changed'>): Promise<void> {
    await this.sql.query(
      `INSERT INTO ${this.table} (name, number, founders, accepting) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
      [name, number, founders, accepting],
    );
  }

  /** Undefined: there is no row. A row that is so already is unchanged. */
  async setAccepting(
    accepting: boolean,
    { by, reason }: { readonly by?: string; readonly reason?: string },
  ): Promise<StoredShard | undefined> {
    await this.sql.query(
      `UPDATE ${this.table} SET accepting = $1, changed_at = now(), changed_by = $2, change_reason = $3 WHERE accepting <> $1`,
      [accepting, by ?? null, reason ?? null],
    );
    return this.read();
  }

  /** Whether sagas were started before the database became a shard. */
  async hasSagas(): Promise<boolean> {
    const [{ some }] = await this.sql.query<[{ some: boolean }]>(
      `SELECT EXISTS (SELECT FROM "${this.schema}".instance) AS some`,
    );
    return some;
  }
}

/** Returns the name of the shard in whose database a transaction is open. Undefined: it is no shard. */
export async function shardOfTransaction(
  transaction: JoinedTransaction,
  schema: string,
): Promise<string | undefined> {
  const table = `"${schema}".shard`;
  // A statement that fails would abort the transaction.
  const [found] = await transaction.query<[{ there: boolean }]>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [table],
  );
  return found.there ? (await rowOf(transaction, table))?.name : undefined;
}

async function rowOf(sql: Sql, table: string): Promise<StoredShard | undefined> {
  const [row] = await sql.query<StoredShard[]>(`SELECT ${COLUMNS} FROM ${table}`);
  return row;
}
