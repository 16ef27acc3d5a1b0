import { diffGraphs } from '../../../definition/describe/diff-graphs.js';
import type { GraphRecord } from '../../../definition/describe/graph-record.js';
import type { StoreTarget } from '../../../engine/ports/saga-store.js';
import {
  type Arrival,
  type GroupMove,
  MOST_TOGETHER,
  type MovableSaga,
  type MovedKeys,
  type MovedNote,
  type SagaMove,
  type SagasOnTheirWay,
  type SealedMove,
  type SealedSaga,
  type ShardMoves,
  type StayReason,
} from '../../../engine/ports/shard-moves.js';
import type { EngineSql } from '../connection/engine-sql.js';
import type { Sql } from '../connection/sql.js';
import { isUuid } from '../connection/uuid.js';
import { wakeupChannel } from '../connection/wakeup-channel.js';
import { CALL_PLACES } from '../schema/functions/start.function.js';
import {
  graphOfSql,
  groupSql,
  isGroupedSql,
  keyColumns,
  packSql,
  PLAIN_TEXT,
  QUEUED,
  staysSql,
} from './move-rows.sql.js';
import { MovedRows } from './moved-rows.js';

const WHAT = 'The move of a saga';
const OWN = `rows #> '{rows,instance,0}'`;
const SEALED = `move, to_shard AS "to", id, name, correlation_id AS "correlationId", ${OWN} ->> 'lock_key' AS "lockKey",
  ${OWN} ->> 'parent_id' AS "parentId", (rows ->> 'version')::int AS version, rows ->> 'graph' AS graph, (rows -> 'rows')::text AS rows`;
const IN_ORDER = `move, (${OWN} ->> 'lock_position')::bigint NULLS FIRST, id`;

/** The keys as columns: null where the saga has none. */
type KeyColumns = { readonly [K in keyof MovedKeys]-?: Exclude<MovedKeys[K], undefined> | null };
type SealedRow = KeyColumns & Omit<SealedSaga, keyof MovedKeys> & Pick<SealedMove, 'move' | 'to'>;

/** Moves of sagas in PostgreSQL. The rows of a move are locked after the row of the shard, and in the order of their ids. */
export class PostgresMoves implements ShardMoves {
  private readonly s: string;
  private readonly rows: MovedRows;

  constructor(
    private readonly sql: EngineSql,
    private readonly schema: string,
  ) {
    this.s = `"${schema}"`;
    this.rows = new MovedRows(sql, this.s);
  }

  async candidates(after: string | undefined, limit: number): Promise<MovableSaga[]> {
    const rows = await this.sql.query<
      (KeyColumns & { readonly isGrouped: boolean; readonly stays: StayReason | null })[]
    >(
      `SELECT ${keyColumns('i')}, ${isGroupedSql(this.s, 'i')} AS "isGrouped", ${staysSql(this.s, 'i')} AS stays
FROM (SELECT * FROM ${this.s}.instance WHERE $1::uuid IS NULL OR id > $1::uuid ORDER BY id LIMIT $2) i ${graphOfSql(this.s, 'i')}
ORDER BY i.id`,
      [after ?? null, limit],
    );
    return rows.map(({ isGrouped, stays, ...keys }) => ({
      ...{ ...keysOf(keys), isGrouped },
      ...(stays !== null && { stays }),
    }));
  }

  async group(saga: string): Promise<MovedKeys[] | 'too-many'> {
    const rows = await this.sql.query<KeyColumns[]>(
      `WITH ${groupSql(this.s)} SELECT ${keyColumns('i')} FROM grp JOIN ${this.s}.instance i USING (id) ORDER BY i.id`,
      [saga, MOST_TOGETHER + 1],
    );
    return rows.length > MOST_TOGETHER ? 'too-many' : rows.map(keysOf);
  }

  async seal(move: GroupMove): Promise<SealedMove | StayReason | 'gone' | 'accepting'> {
    const { columns } = await this.rows.tables();
    return this.sql.commit(WHAT, async (sql) => {
      await sql.query(PLAIN_TEXT);
      const [shard] = await sql.query<{ accepting: boolean }[]>(
        `SELECT accepting FROM ${this.s}.shard FOR SHARE`,
      );
      if (!shard || shard.accepting) return 'accepting';
      const held = await this.hold(sql, move.sagas);
      if (held !== undefined) return held;
      const sealed = await sql.query<SealedRow[]>(
        `WITH notes AS (INSERT INTO ${this.s}.moved (id, name, correlation_id, move, to_shard, state, rows)
SELECT i.id, i.name, i.correlation_id, $2::uuid, $3, 'sealed', json_build_object('version', i.version,
  'revision', g.revision, 'graph', g.graph::text, 'rows', ${packSql(this.s, columns, 'i.id')})
FROM ${this.s}.instance i ${graphOfSql(this.s, 'i')} WHERE i.id = ANY($1::uuid[])
ON CONFLICT (id) DO UPDATE SET name = excluded.name, correlation_id = excluded.correlation_id, move = excluded.move,
  to_shard = excluded.to_shard, state = excluded.state, rows = excluded.rows, at = now()
RETURNING *) SELECT ${SEALED} FROM notes ORDER BY ${IN_ORDER}`,
        [move.sagas, move.move, move.to],
      );
      await this.rows.remove(sql, move.sagas);
      return movesOf(sealed)[0]!;
    });
  }

  /** Locks sagas, and the queues that they are in. Undefined: they may be moved. */
  private async hold(sql: Sql, sagas: readonly string[]): Promise<StayReason | 'gone' | undefined> {
    // Before any row, as all that reads a queue and acts on it does.
    await sql.query(
      // Not IS NOT NULL: a plan made while no saga was in a queue would read instance_lock_queue from end to end.
      `SELECT ${this.s}.lock_queues_1(array_agg(i.name), array_agg(i.lock_key)) FROM ${this.s}.instance i
WHERE i.id = ANY($1::uuid[]) AND coalesce(i.lock_state, '') <> '' HAVING count(*) > 0`,
      [sagas],
    );
    const locked = await sql.query<object[]>(
      `SELECT id FROM ${this.s}.instance WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE SKIP LOCKED`,
      [sagas],
    );
    if (locked.length < sagas.length) return (await this.rows.countHere(sql, sagas)) > 0 ? 'running' : 'gone';
    // Only now: what was committed before the locks counts.
    const group = await sql.query<{ id: string; stays: StayReason | null }[]>(
      `WITH ${groupSql(this.s)} SELECT i.id, ${staysSql(this.s, 'i')} AS stays
FROM grp JOIN ${this.s}.instance i USING (id) ${graphOfSql(this.s, 'i')}`,
      [sagas[0], sagas.length + 1],
    );
    const isSame = group.length === sagas.length && group.every(({ id }) => sagas.includes(id));
    return group.find(({ stays }) => stays !== null)?.stays ?? (isSame ? undefined : 'running');
  }

  async sealed(limit: number, minAge = 0): Promise<SealedMove[]> {
    const rows = await this.sql.query<SealedRow[]>(
      `SELECT ${SEALED} FROM ${this.s}.moved WHERE state = 'sealed' AND move IN (
  SELECT move FROM ${this.s}.moved WHERE state = 'sealed' AND at <= now() - $2::float8 * interval '1 ms' ORDER BY id LIMIT $1)
ORDER BY ${IN_ORDER}`,
      [limit, minAge],
    );
    return movesOf(rows);
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

  async arrive(move: SealedMove, { revisions, isHome }: Arrival): Promise<'arrived' | StayReason> {
    return this.sql.commit(WHAT, async (sql) => {
      await sql.query(PLAIN_TEXT);
      const [shard] = await sql.query<{ accepting: boolean }[]>(
        `SELECT accepting FROM ${this.s}.shard FOR SHARE`,
      );
      const known = await this.decided(sql, move, undefined);
      if (known) return known;
      const refusal = shard?.accepting ? await this.store(sql, move, revisions) : 'no-shard';
      if (refusal === undefined) {
        await sql.query(`DELETE FROM ${this.s}.moved WHERE id = ANY($1::uuid[])`, [idsOf(move)]);
        if (!isHome) await sql.query(`UPDATE ${this.s}.shard SET received = true WHERE NOT received`);
        await sql.query('SELECT pg_notify($1, $2)', [wakeupChannel(this.schema), 'due']);
        return 'arrived';
      }
      await sql.query(`UPDATE ${this.s}.arrived SET refused = $2 WHERE move = $1::uuid`, [
        move.move,
        refusal,
      ]);
      return refusal;
    });
  }

  refuse(move: SealedMove, reason: StayReason): Promise<'arrived' | StayReason> {
    return this.sql.commit(WHAT, async (sql) => (await this.decided(sql, move, reason)) ?? reason);
  }

  async handOver(move: SealedMove): Promise<void> {
    await this.sql.query(
      `UPDATE ${this.s}.moved SET state = 'handed', rows = NULL, at = now()
WHERE id = ANY($1::uuid[]) AND move = $2::uuid AND state = 'sealed'`,
      [idsOf(move), move.move],
    );
  }

  async putBack(move: SealedMove): Promise<void> {
    await this.sql.commit(WHAT, async (sql) => {
      await sql.query(PLAIN_TEXT);
      await this.lockQueues(sql, move);
      const notes = await sql.query<{ id: string; revision: number }[]>(
        `UPDATE ${this.s}.moved SET state = 'returned', at = now()
WHERE id = ANY($1::uuid[]) AND move = $2::uuid AND state = 'sealed' RETURNING id, (rows ->> 'revision')::int AS revision`,
        [idsOf(move), move.move],
      );
      if (notes.length === 0) return;
      await sql.query(`UPDATE ${this.s}.moved SET rows = NULL WHERE id = ANY($1::uuid[])`, [idsOf(move)]);
      for (const saga of move.sagas) {
        const { revision } = notes.find(({ id }) => id === saga.id)!;
        await this.rows.insert(sql, saga, revision, { lock_state: this.lockStateAgain() });
        await this.rows.insertBelongings(sql, saga);
      }
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
    const { columns } = await this.rows.tables();
    return columns.map(({ table, name, type }) => `${table}.${name} ${type}`).join(', ');
  }

  /** Decides a move once: the first call that stores its row does. Undefined: that was this call, and it has arrived unless it is refused. */
  private async decided(
    sql: Sql,
    { move, sagas }: SealedMove,
    refused: StayReason | undefined,
  ): Promise<'arrived' | StayReason | undefined> {
    const stored = await sql.query<object[]>(
      `INSERT INTO ${this.s}.arrived (move, saga_id, refused) VALUES ($1::uuid, $2::uuid, $3) ON CONFLICT DO NOTHING RETURNING move`,
      [move, sagas[0]!.id, refused ?? null],
    );
    if (stored.length > 0) return undefined;
    const [row] = await sql.query<[{ refused: StayReason | null }]>(
      `SELECT refused FROM ${this.s}.arrived WHERE move = $1::uuid`,
      [move],
    );
    return row.refused ?? 'arrived';
  }

  /** Stores all sagas of a move, or none. Undefined: they are stored. */
  private async store(
    sql: Sql,
    move: SealedMove,
    revisions: readonly number[],
  ): Promise<StayReason | undefined> {
    if ((await this.lockQueues(sql, move)) && (await this.isHeld(sql, move))) return 'lock-held';
    const isGroup = move.sagas.length > 1;
    if (isGroup) await sql.query('SAVEPOINT arrival');
    for (const [index, saga] of move.sagas.entries()) {
      if (await this.rows.insert(sql, saga, revisions[index]!, { lock_position: this.nextPosition() }))
        await this.rows.insertBelongings(sql, saga);
      // Otherwise it may be here, since a process has put it back after a failover.
      else if ((await this.rows.countHere(sql, [saga.id])) === 0) {
        if (isGroup) await sql.query('ROLLBACK TO SAVEPOINT arrival');
        return 'correlation-id';
      }
    }
    return undefined;
  }

  /** Whether sagas of the move are in the queues of locks, which are the caller's then. */
  private async lockQueues(sql: Sql, { sagas }: SealedMove): Promise<boolean> {
    if (sagas.every(({ lockKey }) => lockKey === undefined)) return false;
    const locked = await sql.query<object[]>(
      `SELECT ${this.s}.lock_queues_1(array_agg(x.name), array_agg(x.lock_key)) FROM ${QUEUED} HAVING count(*) > 0`,
      [sagas.map(({ rows }) => rows)],
    );
    return locked.length > 0;
  }

  /** Whether sagas that are here have one of the locks. */
  private async isHeld(sql: Sql, { sagas }: SealedMove): Promise<boolean> {
    const [{ held }] = await sql.query<[{ held: boolean }]>(
      `SELECT count(h.id) > 0 AS held FROM ${QUEUED} CROSS JOIN LATERAL (${this.holder('held')} UNION ALL ${this.holder('inside')}) h`,
      [sagas.map(({ rows }) => rows)],
    );
    return held;
  }

  /** The place of a saga in the queue of a lock: behind those that are in it, since its old place is of another sequence. */
  private nextPosition(): string {
    return `CASE WHEN x.lock_state IS NULL THEN x.lock_position::bigint ELSE nextval('${this.s}.lock_position') * ${CALL_PLACES} END`;
  }

  /**
   * Another saga may have taken the lock while this one was on its way: one that was undone. Then both are active, and this one
   * counts as inside of the other's hold, up to its end.
   */
  private lockStateAgain(): string {
    return `CASE WHEN x.lock_state = 'held' AND ${this.holder('held')} IS NOT NULL THEN 'inside' ELSE x.lock_state END`;
  }

  /** A saga that has the lock of x. Two selects, for each state has its index; LIMIT, so that none of them is read as a whole. */
  private holder(state: 'held' | 'inside'): string {
    return `(SELECT h.id FROM ${this.s}.instance h
  WHERE h.name = x.name AND h.lock_key = x.lock_key AND h.lock_state = '${state}' LIMIT 1)`;
  }
}

function keysOf({ id, name, correlationId, lockKey, parentId }: KeyColumns): MovedKeys {
  return {
    ...{ id: id!, name: name! },
    ...(correlationId !== null && { correlationId }),
    ...(lockKey !== null && { lockKey }),
    ...(parentId !== null && { parentId }),
  };
}

/** @param rows those of one move stand together */
function movesOf(rows: readonly SealedRow[]): SealedMove[] {
  const moves: (SealedMove & { readonly sagas: SealedSaga[] })[] = [];
  for (const row of rows) {
    const { move, to, version, graph, rows: stored } = row;
    if (moves.at(-1)?.move !== move) moves.push({ move, to, sagas: [] });
    moves.at(-1)!.sagas.push({ ...keysOf(row), version, graph, rows: stored });
  }
  return moves;
}

function idsOf({ sagas }: SealedMove): string[] {
  return sagas.map(({ id }) => id);
}
