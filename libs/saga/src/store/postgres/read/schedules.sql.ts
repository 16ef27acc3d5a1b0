/** Milliseconds since the epoch. */
const millis = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;
const time = (parameter: string): string => `to_timestamp(${parameter}::float8 / 1000)`;

/** The columns of a schedule, in the order of the parameters of the statement that stores it. */
const columns = `s.saga, s.cron, s.timezone, s.overlap, s.catch_up, ${millis('s.decided_until')} AS decided_until,
  ${millis('s.next_at')} AS next_at, ${millis('s.paused_at')} AS paused_at, s.paused_by, s.pause_reason, s.last_saga,
  ${millis('s.last_at')} AS last_at, s.last_triggered, ${millis('s.skipped_at')} AS skipped_at`;

/**
 * A row for each schedule, or one of nulls with the time. Plan: the table has few rows; a subquery, so that the saga of
 * each is looked up in the primary key.
 */
export const schedulesSql = (schema: string): string => `
SELECT ${columns}, ${millis('now()')} AS now,
  (SELECT i.status FROM ${schema}.instance i WHERE i.id = s.last_saga AND i.finished_at IS NULL) AS last_status
FROM (SELECT) one LEFT JOIN ${schema}.schedule s ON true
ORDER BY s.saga COLLATE "C"`;

/**
 * One schedule, whose row is locked. The time is that of the statement: the transaction may have waited for the lock, and
 * another process may have decided ticks since. The status of its last saga is read by another statement, once the lock is held.
 */
export const lockScheduleSql = (schema: string): string => `
SELECT ${columns}, NULL AS last_status, ${millis('clock_timestamp()')} AS now
FROM ${schema}.schedule s WHERE s.saga = $1 FOR NO KEY UPDATE`;

/** The time alone, for a schedule that is not stored yet. */
export const clockSql = (): string => `SELECT ${millis('clock_timestamp()')} AS now`;

/** The status of a saga that has not ended. */
export const unendedSql = (schema: string): string => `
SELECT status FROM ${schema}.instance WHERE id = $1::uuid AND finished_at IS NULL`;

const values = `$1, $2, $3, $4, $5, ${time('$6')}, ${time('$7')}, ${time('$8')}, $9, $10, $11::uuid, ${time('$12')},
  $13::boolean, ${time('$14')}`;

/** Stores a new schedule. No row: another process has stored it since. */
export const insertScheduleSql = (schema: string): string => `
INSERT INTO ${schema}.schedule (saga, cron, timezone, overlap, catch_up, decided_until, next_at, paused_at, paused_by,
  pause_reason, last_saga, last_at, last_triggered, skipped_at)
VALUES (${values}) ON CONFLICT DO NOTHING RETURNING saga`;

/** Stores a schedule whose row is locked. */
export const updateScheduleSql = (schema: string): string => `
UPDATE ${schema}.schedule SET (cron, timezone, overlap, catch_up, decided_until, next_at, paused_at, paused_by,
  pause_reason, last_saga, last_at, last_triggered, skipped_at) = ROW(${values.replace('$1, ', '')})
WHERE saga = $1`;
