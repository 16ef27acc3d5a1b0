import { leaseColumns } from '../schema/functions/lost-lease.js';
import { storedSagaColumns } from '../read/stored-saga.sql.js';

/** Rows looked at for the next due time, beside those taken: with priorities, the next by rank may not be the next due. */
export const LOOK_AHEAD = 50;

const FROM = `coalesce(to_timestamp($9::float8 / 1000), '-infinity')`;

/**
 * Takes due sagas, most urgent first, with their steps.
 *
 * Plan: what is due comes from due_1 (see due.function.ts), which skips what is locked, so that workers never wait for
 * each other. The update and the steps go by primary key.
 * The rows come in any order, and the first has what was due in its order (\`ids\`). A join with what was due would be a
 * nested loop, because the planner expects a row or two: it would look the steps of each saga up once for each of the
 * others (0.6 s for 340 sagas instead of 15 ms). A look for the place of each in the array is as slow for 1,000.
 * torn: what the update found is newer than what the rest of the statement sees (READ COMMITTED looks again at a row
 * that was changed since the statement began, and at that row alone): its steps and signals have to be read anew. A saga
 * without a checkpoint and without a signal has none of them.
 * A row that still names a worker was not given back: its lease ran out, and that is counted.
 * next_due_at comes from the first rows that were not taken, so that a backlog costs no more than a few rows. It
 * is in the past when one of them is due but locked: it was skipped, though it may be free a moment later.
 * heavy: how many were left since there is no room for their bytes. They are no reason to look again at once.
 * $1 names, $2 versions, $3 limit, $4 worker, $5 lease in ms, $6 to $8: see due_1, $9 the rank from which on, in ms: see
 * backlog-position.ts.
 */
export const claimSql = (schema: string): string => `
WITH due AS MATERIALIZED (
  SELECT * FROM ${schema}.due_1($1::text[], $2::int[], $3::int, $6::bigint, $7::bigint, $8::boolean, ${FROM})
), taken AS (
  UPDATE ${schema}.instance i SET
    epoch = i.epoch + 1,
    takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    locked_by = $4::text,
    ${leaseColumns('now()')},
    woken = false,
    due_at = now() + $5::float8 * interval '1 millisecond',
    rank_at = now() + $5::float8 * interval '1 millisecond'
  WHERE i.id = ANY((SELECT ids FROM due)::uuid[])
  RETURNING i.*
)
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now,
  (SELECT (extract(epoch FROM min(n.due_at)) * 1000)::float8 FROM ${schema}.upcoming_1($1::text[], $2::int[], $3::int + ${LOOK_AHEAD}, ${FROM}) n
   WHERE NOT EXISTS (SELECT FROM due, unnest(due.ids || due.heavy) AS seen(id) WHERE seen.id = n.id)) AS next_due_at,
  (SELECT cardinality(heavy) FROM due) AS heavy,
  (SELECT (extract(epoch FROM last) * 1000)::float8 FROM due) AS last,
  t.*
FROM (SELECT 1) one LEFT JOIN LATERAL (
  SELECT ${storedSagaColumns(schema, 'taken', 'taken.id = (SELECT in_parts FROM due)')},
    (taken.checkpoints > 0 OR taken.signals > 0) AND NOT EXISTS (SELECT FROM ${schema}.instance s WHERE s.id = taken.id
      AND s.checkpoints = taken.checkpoints AND s.signals = taken.signals) AS torn,
    CASE WHEN row_number() OVER () = 1 THEN (SELECT ids FROM due) END AS ids
  FROM taken) t ON true`;
