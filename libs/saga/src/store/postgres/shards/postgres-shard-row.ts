import type { StoredShard } from '../../../engine/ports/stored-shard.js';
import { SagaUnavailableError } from '../../../errors.js';
import { MESSAGING_TABLES, SAGA_TABLES } from '../schema/tables/table-facts.js';
import { disableTimeouts } from '../setup/disable-timeouts.js';
import type { EngineSql } from '../connection/engine-sql.js';
import type { JoinedTransaction } from '../connection/saga-database.js';
import type { Sql } from '../connection/sql.js';
import { schemaOfStep } from '../connection/step-connections.js';

const COLUMNS = 'name, number, founders, accepting, changed_at IS NOT NULL AS changed, closed';

/** The trigger of each table of a closed shard: see shard-closed.sql. */
const TRIGGER = 'shard_closed';
/** The tables that a closed shard seals: its own row can be changed. */
const SEALED_TABLES = SAGA_TABLES.filter((table) => table !== 'shard');
/** Milliseconds for which a close waits for the sagas that run, and between two looks. */
const CLOSE_PATIENCE = 60_000;
const LOOK = 200;

/** Who changes a shard, and why. */
export interface ShardChange {
  readonly by?: string;
  readonly reason?: string;
}

/** A call that changes a shard, a method of its row. A shard that is so already is unchanged. */
export type ShardCall = 'drain' | 'close' | 'open';

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
    const [row] = await this.sql.query<StoredShard[]>(`SELECT ${COLUMNS} FROM ${this.table}`);
    return row;
  }

  /** Stores the row, unless there is one. */
  async register({
    name,
    number,
    founders,
    accepting,
  }: Omit<StoredShard, 'changed' | 'closed'>): Promise<void> {
    await this.sql.query(
      `INSERT INTO ${this.table} (name, number, founders, accepting) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
      [name, number, founders, accepting],
    );
  }

  drain(change: ShardChange): Promise<void> {
    return this.setAccepting(false, change);
  }

  private async setAccepting(accepting: boolean, { by, reason }: ShardChange): Promise<void> {
    await this.sql.query(
      `UPDATE ${this.table} SET accepting = $1, changed_at = now(), changed_by = $2, change_reason = $3 WHERE accepting <> $1`,
      [accepting, by ?? null, reason ?? null],
    );
  }

  /**
   * Closes the shard: each process stops its sagas and its relay at its next poll. Then nothing can change the tables any
   * more: not even a process that has missed it. It may be repeated.
   * @throws SagaUnavailableError if sagas or a relay still run after a minute. The shard stays closed for all that is new
   */
  async close(change: ShardChange): Promise<void> {
    await this.setClosed(true, change);
    for (let waited = 0; ; waited += LOOK) {
      const holder = (await this.holder(this.sql)) ?? (await this.seal());
      if (holder === undefined) return;
      if (waited >= CLOSE_PATIENCE)
        throw new SagaUnavailableError(
          `The shard is closed for everything new, but a process still runs its sagas or its relay: ${holder}. ` +
            `Repeat the call, or end the process first.`,
        );
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
  }

  /**
   * From its return on each change of the tables is refused, unless a process that does not know yet has taken a lease since
   * the last look. Returns the holder then, and changes nothing.
   */
  private seal(): Promise<string | undefined> {
    return this.sql.transaction(async (sql) => {
      await disableTimeouts(sql);
      const tables = await this.sealedTables(sql);
      // Waits for the changes in progress, and lets none begin. The triggers need no stronger lock.
      await sql.query(`LOCK TABLE ${tables.join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
      const holder = await this.holder(sql);
      if (holder !== undefined) return holder;
      for (const table of tables)
        await sql.query(
          `CREATE OR REPLACE TRIGGER ${TRIGGER} BEFORE INSERT OR UPDATE OR DELETE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION "${this.schema}".shard_closed()`,
        );
      return undefined;
    });
  }

  /** Opens a closed shard, which is as it was before it was closed, or another one for new sagas. */
  async open(change: ShardChange): Promise<void> {
    const row = await this.read();
    if (!row?.closed) return this.setAccepting(true, change);
    await this.sql.transaction(async (sql) => {
      await disableTimeouts(sql);
      for (const table of await this.sealedTables(sql))
        await sql.query(`DROP TRIGGER IF EXISTS ${TRIGGER} ON ${table}`);
    });
    await this.setClosed(false, change);
  }

  private async setClosed(closed: boolean, { by, reason }: ShardChange): Promise<void> {
    await this.sql.query(
      `UPDATE ${this.table} SET closed = $1, changed_by = $2, change_reason = $3 WHERE closed <> $1`,
      [closed, by ?? null, reason ?? null],
    );
  }

  /** The tables of sagas and messages that are there, quoted. */
  private async sealedTables(sql: Sql): Promise<string[]> {
    const tables = [...SEALED_TABLES, ...MESSAGING_TABLES].map((table) => `"${this.schema}".${table}`);
    const rows = await sql.query<{ name: string }[]>(
      'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL',
      [tables],
    );
    return rows.map(({ name }) => name);
  }

  /** Who holds a lease of a saga, or of messages. Plan: unfinished work only, by instance_due. */
  private async holder(sql: Sql): Promise<string | undefined> {
    const [row] = await sql.query<{ holder: string }[]>(
      `SELECT locked_by AS holder FROM "${this.schema}".instance
       WHERE rank_at IS NOT NULL AND locked_by IS NOT NULL AND due_at > clock_timestamp()
       UNION ALL
       SELECT leased_by FROM "${this.schema}".outbox_lane WHERE leased_by IS NOT NULL AND leased_until > clock_timestamp()
       LIMIT 1`,
    );
    return row?.holder;
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

  /** Whether schedules of sagas are kept here. */
  async hasSchedules(): Promise<boolean> {
    const [{ some }] = await this.sql.query<[{ some: boolean }]>(
      `SELECT EXISTS (SELECT FROM "${this.schema}".schedule) AS some`,
    );
    return some;
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
