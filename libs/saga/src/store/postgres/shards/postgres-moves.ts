import { diffGraphs } from '../../../definition/describe/diff-graphs.js';
import type { GraphRecord } from '../../../definition/describe/graph-record.js';
import type { StoreTarget } from '../../../engine/ports/saga-store.js';
import type {
  Arrival,
  MovableSaga,
  MovedNote,
  SagaMove,
  SagasOnTheirWay,
  SealedSaga,
  ShardMoves,
  StayReason,
} from '../../../engine/ports/shard-moves.js';
import type { EngineSql } from '../connection/engine-sql.js';
import type { Sql } from '../connection/sql.js';
import { isUuid } from '../connection/uuid.js';
import { wakeupChannel } from '../connection/wakeup-channel.js';
import { BELONGINGS } from '../schema/functions/cleanup.function.js';
import {
  type Column,
  columnsSql,
  graphOfSql,
  packSql,
  PLAIN_TEXT,
  staysSql,
  unpackSql,
} from './move-rows.sql.js';

const WHAT = 'The move of a saga';
const SEALED = `id AS saga, move, to_shard AS "to", name, correlation_id AS "correlationId", (rows ->> 'version')::int AS version,
  rows ->> 'graph' AS graph, (rows -> 'rows')::text AS rows`;

/** Moves of sagas in PostgreSQL. The rows of a saga are locked after the row of the shard, and one saga at a time. */
export class PostgresMoves implements ShardMoves {
  private readonly s: string;
  private known: Promise<{ columns: readonly Column[]; isPartitioned: boolean }> | undefined;

  constructor(
    private readonly sql: EngineSql,
    private readonly schema: string,
  ) {
    this.s = `"${schema}"`;
  }

  async candidates(after: string | undefined, limit: number): Promise<MovableSaga[]> {
    const rows = await this.sql.query<
      { id: string; name: string; correlation_id: string | null; stays: StayReason | null }[]
    >(
      `SELECT i.id, i.name, i.correlation_id, ${staysSql(this.s, 'i')} AS stays
FROM (SELECT * FROM ${this.s}.instance WHERE $1::uuid IS NULL OR id > $1::uuid ORDER BY id LIMIT $2) i ${graphOfSql(this.s, 'i')}
ORDER BY i.id`,
      [after ?? null, limit],
    );
    return rows.map(({ id, name, correlation_id: correlationId, stays }) => ({
      ...{ id, name },
      ...(correlationId !== null && { correlationId }),
      ...(stays !== null && { stays }),
    }));
  }

  async seal(move: SagaMove): Promise<SealedSaga | StayReason | 'gone' | 'accepting'> {
    const { columns } = await this.tables();
    return this.sql.commit(WHAT, async (sql) => {
      await sql.query(PLAIN_TEXT);
      const [shard] = await sql.query<{ accepting: boolean }[]>(
        `SELECT accepting FROM ${this.s}.shard FOR SHARE`,
      );
      if (!shard || shard.accepting) return 'accepting';
      const locked = await sql.query<object[]>(
        `SELECT id FROM ${this.s}.instance WHERE id = $1::uuid FOR UPDATE SKIP LOCKED`,
        [move.saga],
      );
      if (locked.length === 0) return (await this.isHere(sql, move.saga)) ? 'running' : 'gone';
      // Only now: what was committed before the lock counts.
      const [{ stays }] = await sql.query<[{ stays: StayReason | null }]>(
        `SELECT ${staysSql(this.s, 'i')} AS stays FROM ${this.s}.instance i ${graphOfSql(this.s, 'i')} WHERE i.id = $1::uuid`,
        [move.saga],
      );
      if (stays !== null) return stays;
      const [sealed] = await sql.query<[SealedSaga]>(
        `INSERT INTO ${this.s}.moved AS m (id, name, correlation_id, move, to_shard, state, rows)
SELECT i.id, i.name, i.correlation_id, $2::uuid, $3, 'sealed', json_build_object('version', i.version,
  'revision', g.revision, 'graph', g.graph::text, 'rows', ${packSql(this.s, columns)})
FROM ${this.s}.instance i ${graphOfSql(this.s, 'i')} WHERE i.id = $1::uuid
ON CONFLICT (id) DO UPDATE SET name = excluded.name, correlation_id = excluded.correlation_id, move = excluded.move,
  to_shard = excluded.to_shard, state = excluded.state, rows = excluded.rows, at = now()
RETURNING ${SEALED}`,
        [move.saga, move.move, move.to],
      );
      await this.remove(sql, move.saga);
      return sealed;
    });
  }

  sealed(limit: number, minAge = 0): Promise<SealedSaga[]> {
    return this.sql.query(
      `SELECT ${SEALED} FROM ${this.s}.moved
WHERE state = 'sealed' AND at <= now() - $2::float8 * interval '1 ms' ORDER BY id LIMIT $1`,
      [limit, minAge],
    );
  }

  async onTheirWay(): Promise<SagasOnTheirWay> {
    const [row] = await this.sql.query<[SagasOnTheirWay]>(
      `SELECT count(*)::int AS count, coalesce(extract(epoch FROM now() - min(at)) * 1000, 0)::float8 AS oldest
FROM ${this.s}.moved WHERE state = 'sealed'`,
    );
    return row;
  }

  async revisionOf({
    name,
    version,
    graph,
  }: Pick<SealedSaga, 'name' | 'version' | 'graph'>): Promise<number | undefined> {
    const stored = await this.sql.query<{ revision: number; graph: GraphRecord }[]>(
      `SELECT revision, graph FROM ${this.s}.graph WHERE name = $1 AND version = $2 ORDER BY revision DESC`,
      [name, version],
    );
    const own = JSON.parse(graph) as GraphRecord;
    return stored.find((one) => diffGraphs(one.graph, own).differences.length === 0)?.revision;
  }

  async arrive(saga: SealedSaga, { revision, isHome }: Arrival): Promise<'arrived' | StayReason> {
    return this.sql.commit(WHAT, async (sql) => {
      await sql.query(PLAIN_TEXT);
      const [shard] = await sql.query<{ accepting: boolean }[]>(
        `SELECT accepting FROM ${this.s}.shard FOR SHARE`,
      );
      const known = await this.decided(sql, saga, undefined);
      if (known) return known;
      const refusal = shard?.accepting ? await this.insert(sql, saga, revision) : 'no-shard';
      if (refusal === undefined || refusal === 'arrived') {
        if (refusal === undefined) await this.insertBelongings(sql, saga);
        await sql.query(`DELETE FROM ${this.s}.moved WHERE id = $1::uuid`, [saga.saga]);
        if (!isHome) await sql.query(`UPDATE ${this.s}.shard SET received = true WHERE NOT received`);
        await sql.query('SELECT pg_notify($1, $2)', [wakeupChannel(this.schema), 'due']);
        return 'arrived';
      }
      await sql.query(`UPDATE ${this.s}.arrived SET refused = $2 WHERE move = $1::uuid`, [
        saga.move,
        refusal,
      ]);
      return refusal;
    });
  }

  refuse(move: SagaMove, reason: StayReason): Promise<'arrived' | StayReason> {
    return this.sql.commit(WHAT, async (sql) => (await this.decided(sql, move, reason)) ?? reason);
  }

  async handOver({ saga, move }: SagaMove): Promise<void> {
    await this.sql.query(
      `UPDATE ${this.s}.moved SET state = 'handed', rows = NULL, at = now()
WHERE id = $1::uuid AND move = $2::uuid AND state = 'sealed'`,
      [saga, move],
    );
  }

  async putBack(saga: SealedSaga): Promise<void> {
    await this.sql.commit(WHAT, async (sql) => {
      await sql.query(PLAIN_TEXT);
      const [note] = await sql.query<{ revision: number }[]>(
        `UPDATE ${this.s}.moved SET state = 'returned', at = now()
WHERE id = $1::uuid AND move = $2::uuid AND state = 'sealed' RETURNING (rows ->> 'revision')::int AS revision`,
        [saga.saga, saga.move],
      );
      if (!note) return;
      await sql.query(`UPDATE ${this.s}.moved SET rows = NULL WHERE id = $1::uuid`, [saga.saga]);
      await this.insertInstance(sql, saga, note.revision);
      await this.insertBelongings(sql, saga);
      await sql.query('SELECT pg_notify($1, $2)', [wakeupChannel(this.schema), 'due']);
    });
  }

  async noteOf(target: StoreTarget): Promise<MovedNote | undefined> {
    const columns = `id AS saga, move, to_shard AS "to", state`;
    if ('id' in target) {
      if (!isUuid(target.id)) return undefined;
      const [byId] = await this.sql.query<MovedNote[]>(
        `SELECT ${columns} FROM ${this.s}.moved WHERE id = $1::uuid`,
        [target.id],
      );
      return byId;
    }
    const { name, correlationId } = target;
    const [byKey] = await this.sql.query<MovedNote[]>(
      `SELECT ${columns} FROM ${this.s}.moved WHERE correlation_id = $2 AND name = $1 AND state <> 'returned'
UNION ALL
SELECT ${columns} FROM ${this.s}.moved WHERE correlation_id = $2 AND name = $1 AND state = 'returned'
UNION ALL
SELECT ${columns} FROM ${this.s}.moved WHERE id = $3::uuid AND name = $1 AND correlation_id IS NULL LIMIT 1`,
      [name, correlationId, isUuid(correlationId) ? correlationId : null],
    );
    return byKey;
  }

  async forget({ saga, move }: SagaMove): Promise<void> {
    await this.sql.query(
      `DELETE FROM ${this.s}.moved WHERE id = $1::uuid AND move = $2::uuid AND state = 'handed'`,
      [saga, move],
    );
  }

  async columns(): Promise<string> {
    const { columns } = await this.tables();
    return columns.map(({ table, name, type }) => `${table}.${name} ${type}`).join(', ');
  }

  /** Decides a move once: the first call that stores its row does. Undefined: that was this call, and it has arrived unless it is refused. */
  private async decided(
    sql: Sql,
    { move, saga }: SagaMove,
    refused: StayReason | undefined,
  ): Promise<'arrived' | StayReason | undefined> {
    const stored = await sql.query<object[]>(
      `INSERT INTO ${this.s}.arrived (move, saga_id, refused) VALUES ($1::uuid, $2::uuid, $3) ON CONFLICT DO NOTHING RETURNING move`,
      [move, saga, refused ?? null],
    );
    if (stored.length > 0) return undefined;
    const [row] = await sql.query<[{ refused: StayReason | null }]>(
      `SELECT refused FROM ${this.s}.arrived WHERE move = $1::uuid`,
      [move],
    );
    return row.refused ?? 'arrived';
  }

  /** Undefined: it was stored. 'arrived': it is here, since a process has put it back after a failover. */
  private async insert(
    sql: Sql,
    saga: SealedSaga,
    revision: number,
  ): Promise<'arrived' | 'correlation-id' | undefined> {
    if (await this.insertInstance(sql, saga, revision)) return undefined;
    return (await this.isHere(sql, saga.saga)) ? 'arrived' : 'correlation-id';
  }

  private async isHere(sql: Sql, id: string): Promise<boolean> {
    const found = await sql.query<object[]>(`SELECT id FROM ${this.s}.instance WHERE id = $1::uuid`, [id]);
    return found.length > 0;
  }

  /** False: its id or its correlation id is taken. */
  private async insertInstance(sql: Sql, saga: SealedSaga, revision: number): Promise<boolean> {
    const { columns, isPartitioned } = await this.tables();
    if (isPartitioned && !(await this.takeCorrelation(sql, saga))) return false;
    const given = { epoch: 'x.epoch::int + 1', graph_revision: '$2::smallint' };
    const stored = await sql.query<object[]>(
      `${unpackSql(this.s, 'instance', columns, given)} ON CONFLICT DO NOTHING RETURNING id`,
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

  private async insertBelongings(sql: Sql, { rows }: SealedSaga): Promise<void> {
    const { columns } = await this.tables();
    for (const table of BELONGINGS) await sql.query(unpackSql(this.s, table, columns), [rows]);
  }

  private async remove(sql: Sql, id: string): Promise<void> {
    const { isPartitioned } = await this.tables();
    for (const table of BELONGINGS)
      await sql.query(`DELETE FROM ${this.s}.${table} WHERE saga_id = $1::uuid`, [id]);
    if (isPartitioned)
      await sql.query(
        `DELETE FROM ${this.s}.correlation c USING ${this.s}.instance i
WHERE i.id = $1::uuid AND c.correlation_id = i.correlation_id AND c.name = i.name AND c.saga_id = i.id`,
        [id],
      );
    await sql.query(`DELETE FROM ${this.s}.instance WHERE id = $1::uuid`, [id]);
  }

  private tables() {
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
