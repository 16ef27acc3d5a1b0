/**
 * Extends leases, all of a worker's in one statement, and brings back what was asked of the sagas meanwhile.
 * Rows are locked in the order of their ids, as checkpoints lock them, so that the two never deadlock: a small table is
 * read in another order.
 * Plan: nested loops into instance_pkey; hiding the array in a subquery keeps the planner from expecting many rows, and so from a
 * hash join with the whole table.
 * $1 ids, $2 epochs, $3 worker, $4 lease in ms.
 */
export const renewSql = (schema: string): string => renewal(schema);

/** Renews leases, and stores what the steps in progress report. $5 the reports of each saga, or null: they stay. */
export const reportSql = (schema: string): string => renewal(schema, '$5::text[]');

const renewal = (schema: string, reports?: string): string => `
WITH w AS (
  SELECT * FROM unnest((SELECT $1::uuid[]), (SELECT $2::int[])${reports ? `, (SELECT ${reports})` : ''}) AS w(id, epoch${reports ? ', reports' : ''})
), held AS MATERIALIZED (
  SELECT i.id${reports ? ', w.reports' : ''} FROM w JOIN ${schema}.instance i ON i.id = w.id AND i.epoch = w.epoch AND i.locked_by = $3::text
  ORDER BY i.id FOR NO KEY UPDATE OF i
), renewed AS (
  UPDATE ${schema}.instance i SET
    due_at = now() + $4::float8 * interval '1 millisecond',
    rank_at = now() + $4::float8 * interval '1 millisecond'${
      reports
        ? `,
    reports = coalesce(h.reports::json, i.reports)
  FROM held h WHERE i.id = h.id`
        : `
  WHERE i.id = ANY((SELECT array_agg(held.id) FROM held)::uuid[])`
    }
  RETURNING i.id, i.cancel_requested_at IS NOT NULL AS cancel_requested, i.cancel_reason, i.pause_requested
)
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now, r.id, r.cancel_requested, r.cancel_reason, r.pause_requested
FROM (SELECT 1) one LEFT JOIN renewed r ON true`;
