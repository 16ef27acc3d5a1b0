import type { StoredShard } from '../../../engine/ports/stored-shard.js';
import type { EngineSql } from '../connection/engine-sql.js';
import type { JoinedTransaction } from '../connection/saga-database.js';
import type { Sql } from '../connection/sql.js';
import { schemaOfStep } from '../connection/step-connections.js';

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

  /** The server since its start, the database and the schema: the same for the same tables, whatever their address. */
  async place(): Promise<string> {
    const [{ place }] = await this.sql.query<[{ place: string }]>(
      `SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), d.oid, $1::text) AS place
       FROM pg_database d WHERE d.datname = current_database()`,
      [this.schema],
    );
    return place;
  }

  /** Whether sagas were started before the database became a shard. */
  async hasSagas(): Promise<boolean> {
    const [{ some }] = await this.sql.query<[{ some: boolean }]>(
      `SELECT EXISTS (SELECT FROM "${this.schema}".instance) AS some`,
    );
    return some;
  }
}

/** A shard as transactions are asked for it. */
interface NamedSchema {
  readonly name: string;
  readonly schema: string;
}

/**
 * Returns those of the shards in whose database a transaction is open, in their order. In the transaction of a step, it is
 * the shard of its saga alone.
 */
export async function shardsOfTransaction<S extends NamedSchema>(
  transaction: JoinedTransaction,
  shards: readonly S[],
): Promise<S[]> {
  const schemas = [...new Set(shards.map(({ schema }) => schema))];
  // A statement that fails would abort the transaction.
  const there = await transaction.query<{ schema: string }[]>(
    "SELECT schema FROM unnest($1::text[]) AS schema WHERE to_regclass(format('%I.shard', schema)) IS NOT NULL",
    [schemas],
  );
  if (there.length === 0) return [];
  const rows = await transaction.query<NamedSchema[]>(
    there
      .map(({ schema }) => `SELECT name, '${schema}' AS schema FROM "${schema}".shard`)
      .join(' UNION ALL '),
  );
  const found = shards.filter(({ name, schema }) =>
    rows.some((row) => row.name === name && row.schema === schema),
  );
  if (found.length < 2) return found;
  const own = schemaOfStep(await transaction.connection());
  return own === undefined ? found : found.filter(({ schema }) => schema === own);
}

async function rowOf(sql: Sql, table: string): Promise<StoredShard | undefined> {
  const [row] = await sql.query<StoredShard[]>(`SELECT ${COLUMNS} FROM ${table}`);
  return row;
}
