import { PRIORITY_POINT_MS } from '../../../engine/ports/saga-store.js';

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

/** Resumes it, if it is paused. It waits for checkpoints that rely on the pause: see rest-while-paused.function.ts. */
export const resumeStepSql = (schema: string): string => `
WITH resumed AS (
  UPDATE ${schema}.step_pause SET resumed_at = now(), resumed_by = $3, resume_reason = $4
  WHERE saga = $1 AND step = $2 AND resumed_at IS NULL RETURNING id)
SELECT pg_notify($5, 'pauses') FROM resumed`;

/** Pauses of a step ($1, $2) that are over for all but the sagas that wait, and the time from which no saga rests for them. */
export const resumedSql = (schema: string): string => `
SELECT id::text AS id, clock_timestamp()::text AS until FROM ${schema}.step_pause
WHERE saga = $1 AND step = $2 AND resumed_at IS NOT NULL AND NOT woken`;

/** Idle, and among the steps that its row shows is this one. */
const WAITS = `i.name = $1 AND i.locked_by IS NULL AND i.status IN ('running', 'compensating') AND i.finished_at IS NULL
  AND string_to_array(i.step, ', ') @> ARRAY[$2::text] AND i.updated_at <= $3::timestamptz`;

/**
 * Makes sagas ($1 name) due that wait for a step ($2) since before $3, $4 of them at most, and returns how many. Plan: scans
 * of instance_idle and instance_due for the name, whatever has finished. Rows are locked in the order of their ids, as
 * checkpoints lock them.
 */
export const wakeStepSql = (schema: string): string => `
WITH woken AS (
  UPDATE ${schema}.instance u SET due_at = now(), updated_at = now(),
    rank_at = now() - u.priority * interval '${PRIORITY_POINT_MS} milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM ${schema}.instance i
    WHERE ${WAITS} AND i.id = ANY(ARRAY(
      (SELECT i.id FROM ${schema}.instance i WHERE ${WAITS} AND i.rank_at IS NULL LIMIT $4)
      UNION ALL
      (SELECT i.id FROM ${schema}.instance i WHERE ${WAITS} AND i.rank_at IS NOT NULL AND i.due_at > now() LIMIT $4)))
    ORDER BY i.id FOR NO KEY UPDATE))
  RETURNING u.id)
SELECT count(*)::int AS count FROM woken`;

/** All sagas that waited for these pauses ($1) have been made due. */
export const wokenSql = (schema: string): string =>
  `UPDATE ${schema}.step_pause SET woken = true WHERE id = ANY($1::bigint[])`;
