/** The sagas that kept others from being started. Index lookups: the lateral subquery cannot be joined any other way. */
export const existingSql = (schema: string): string => `
SELECT w.n, i.id, i.name, i.correlation_id, i.input::text AS input, i.locked_by, i.epoch,
  (extract(epoch FROM now()) * 1000)::float8 AS now
FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[]) AS w(n, id, name, correlation_id)
CROSS JOIN LATERAL (
  (SELECT * FROM ${schema}.instance WHERE id = w.id)
  UNION ALL
  (SELECT * FROM ${schema}.instance WHERE name = w.name AND correlation_id = w.correlation_id)
  LIMIT 1) i`;
