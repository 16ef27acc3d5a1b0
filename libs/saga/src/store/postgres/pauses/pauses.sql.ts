import { IN_PROGRESS } from '../../../definition/types/saga-status.js';
import { PRIORITY_POINT_MS } from '../../../engine/ports/saga-store.js';
import { inList } from '../schema/in-list.js';

const millis = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

const columns = `p.saga, p.step, ${millis('p.paused_at')} AS paused_at, p.paused_by, p.pause_reason,
  ${millis('p.resumed_at')} AS resumed_at, p.resumed_by, p.resume_reason, p.woken`;

/**
 * Pauses whose sagas still wait, and $1 more of those that are over. Plan: the table has a row for each pause that there
 * ever was, which are few. A row of nulls with the time if there are none.
 */
export const stepPausesSql = (schema: string): string => `
SELECT ${columns}, ${millis('now()')} AS now
FROM (SELECT) one LEFT JOIN (
  (SELECT * FROM ${schema}.step_pause WHERE NOT woken)
  UNION ALL
  (SELECT * FROM ${schema}.step_pause WHERE woken ORDER BY id DESC LIMIT $1)) p ON true
ORDER BY p.woken, CASE WHEN p.woken THEN -p.id ELSE p.id END`;

/** Pauses a step ($1, $2), unless it is paused. $3 by whom, $4 why, $5 the channel. */
export const pauseStepSql = (schema: string): string => `
WITH paused AS (
  INSERT INTO ${schema}.step_pause (saga, step, paused_by, pause_reason) VALUES ($1, $2, $3, $4)
  ON CONFLICT (saga, step) WHERE resumed_at IS NULL DO NOTHING RETURNING id)
SELECT pg_notify($5, 'pauses') FROM paused`;

/** Resumes it, if it is paused. It waits for checkpoints that rely on the pause: see rest-while-paused.sql. */
export const resumeStepSql = (schema: string): string => `
WITH resumed AS (
  UPDATE ${schema}.step_pause SET resumed_at = now(), resumed_by = $3, resume_reason = $4
  WHERE saga = $1 AND step = $2 AND resumed_at IS NULL RETURNING id)
SELECT pg_notify($5, 'pauses') FROM resumed`;

/** Pauses of a step ($1, $2) that are over for all but the sagas that wait. No saga rests for them any more. */
export const resumedSql = (schema: string): string => `
SELECT id::text AS id FROM ${schema}.step_pause
WHERE saga = $1 AND step = $2 AND resumed_at IS NOT NULL AND NOT woken`;

/** Not leased, and among the steps that its row shows is this one. */
const WAITS = `i.name = $1 AND i.locked_by IS NULL AND i.status IN ${inList(IN_PROGRESS)} AND i.finished_at IS NULL
  AND string_to_array(i.step, ', ') @> ARRAY[$2::text]`;

/**
 * Makes sagas ($1 name) due that wait for a step ($2) and are not due before, the next $6 of them at most from the version $3, the rank $4
 * and the id $5 on, in that order. Returns how many there were, and the last one. Those behind it have not been looked at, whatever the
 * sagas before it have done since, and whatever the clock says. Rows are locked in the order of their ids, as checkpoints lock them.
 */
const wakeStepSql = (
  schema: string,
  { waits, after, order }: Record<'waits' | 'after' | 'order', string>,
): string => `
WITH picked AS MATERIALIZED (
  SELECT i.id, i.version, i.rank_at FROM ${schema}.instance i
  WHERE ${WAITS} AND ${waits} AND ${after} ORDER BY ${order} LIMIT $6
), woken AS (
  UPDATE ${schema}.instance u SET due_at = now(), updated_at = now(),
    rank_at = now() - u.priority * interval '${PRIORITY_POINT_MS} milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM ${schema}.instance i WHERE ${WAITS} AND ${waits} AND i.id = ANY(ARRAY(SELECT p.id FROM picked p))
    ORDER BY i.id FOR NO KEY UPDATE)))
SELECT (SELECT count(*)::int FROM picked) AS count, i.version, coalesce(i.rank_at::text, '-infinity') AS rank, i.id
FROM picked i ORDER BY ${order.replaceAll(/i\.\w+/g, '$& DESC')} LIMIT 1`;

/**
 * Wakes sagas that wait for nothing but events. Plan: a scan of instance_idle for the name, from where the one before has
 * ended.
 */
export const wakeIdleSql = (schema: string): string =>
  wakeStepSql(schema, {
    waits: 'i.rank_at IS NULL',
    after: `(i.version, i.id) > ($3::int, $5::uuid) AND $4::timestamptz IS NOT NULL`,
    order: 'i.version, i.id',
  });

/** Wakes sagas that are due at a time that is to come. Plan: the same, of instance_due. */
export const wakeLaterSql = (schema: string): string =>
  wakeStepSql(schema, {
    waits: 'i.rank_at IS NOT NULL AND i.due_at > now()',
    after: `(i.version, i.rank_at, i.id) > ($3::int, $4::timestamptz, $5::uuid)`,
    order: 'i.version, i.rank_at, i.id',
  });

/** All sagas that waited for these pauses ($1) have been made due. */
export const wokenSql = (schema: string): string =>
  `UPDATE ${schema}.step_pause SET woken = true WHERE id = ANY($1::bigint[])`;
