import type { SealedSaga } from '../../../engine/ports/shard-moves.js';
import type { EngineSql } from '../connection/engine-sql.js';
import type { Sql } from '../connection/sql.js';
import { BELONGINGS } from '../schema/functions/cleanup.function.js';
import { type Column, columnsSql, unpackSql } from './move-rows.sql.js';

/** All rows of sagas that leave a shard, or are stored on one. */
export class MovedRows {
  private known: Promise<{ columns: readonly Column[]; isPartitioned: boolean }> | undefined;

  /** @param s the schema, quoted */
  constructor(
    private readonly sql: EngineSql,
    private readonly s: string,
  ) {}

  /** How many of these sagas are on the shard. */
  async countHere(sql: Sql, ids: readonly string[]): Promise<number> {
    const [{ count }] = await sql.query<[{ count: number }]>(
      `SELECT count(*)::int AS count FROM ${this.s}.instance WHERE id = ANY($1::uuid[])`,
      [ids],
    );
    return count;
  }

  /** False: its id or its correlation id is taken. @param given other values for columns, in SQL */
  async insert(
    sql: Sql,
    saga: SealedSaga,
    revision: number,
    given: Readonly<Record<string, string>>,
  ): Promise<boolean> {
    const { columns, isPartitioned } = await this.tables();
    if (isPartitioned && !(await this.takeCorrelation(sql, saga))) return false;
    const own = { epoch: 'x.epoch::int + 1', graph_revision: '$2::smallint', ...given };
    const stored = await sql.query<object[]>(
      `${unpackSql(this.s, 'instance', columns, own)} ON CONFLICT DO NOTHING RETURNING id`,
      [saga.rows, revision],
    );
    return stored.length > 0;
  }

  /** Partitions keep correlation ids unique by a table of their own: see correlation.function.ts. */
  private async takeCorrelation(sql: Sql, { rows }: SealedSaga): Promise<boolean> {
    const taken = await sql.query<{ saga_id: string | null }[]>(
      `WITH x AS (SELECT * FROM json_to_recordset($1::json -> 'instance') AS x(id uuid, name text, correlation_id text)), t AS (
INSERT INTO ${this.s}.correlation AS c (correlation_id, name, saga_id) SELECT correlation_id, name, id FROM x WHERE correlation_id IS NOT NULL
ON CONFLICT (correlation_id, name) DO UPDATE SET saga_id = excluded.saga_id
  WHERE NOT EXISTS (SELECT FROM ${this.s}.instance o WHERE o.id = c.saga_id) RETURNING saga_id)
SELECT t.saga_id FROM x LEFT JOIN t ON true WHERE x.correlation_id IS NULL OR t.saga_id IS NOT NULL`,
      [rows],
    );
    return taken.length > 0;
  }

  /** What belongs to a saga that was inserted. */
  async insertBelongings(sql: Sql, { rows }: SealedSaga): Promise<void> {
    const { columns } = await this.tables();
    for (const table of BELONGINGS) await sql.query(unpackSql(this.s, table, columns), [rows]);
  }

  async remove(sql: Sql, ids: readonly string[]): Promise<void> {
    const { isPartitioned } = await this.tables();
    for (const table of BELONGINGS)
      await sql.query(`DELETE FROM ${this.s}.${table} WHERE saga_id = ANY($1::uuid[])`, [ids]);
    if (isPartitioned)
      await sql.query(
        `DELETE FROM ${this.s}.correlation c USING ${this.s}.instance i
WHERE i.id = ANY($1::uuid[]) AND c.correlation_id = i.correlation_id AND c.name = i.name AND c.saga_id = i.id`,
        [ids],
      );
    await sql.query(`DELETE FROM ${this.s}.instance WHERE id = ANY($1::uuid[])`, [ids]);
  }

  /** The columns of the tables, which are read once. */
  tables() {
    this.known ??= this.readTables().catch((error: unknown) => {
      this.known = undefined;
      throw error;
    });
    return this.known;
  }

  private async readTables() {
    const columns = await this.sql.query<Column[]>(columnsSql(this.s));
    const [{ there }] = await this.sql.query<[{ there: boolean }]>(
      'SELECT to_regclass($1) IS NOT NULL AS there',
      [`${this.s}.correlation`],
    );
    return { columns, isPartitioned: there };
  }
}
