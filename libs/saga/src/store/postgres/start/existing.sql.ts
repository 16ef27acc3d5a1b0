/**
 * The bytes of a value as text. PostgreSQL knows the size of a stored value without reading it, unless it is compressed:
 * then this decompresses it.
 */
const exactBytes = (column: string): string =>
  `coalesce(CASE WHEN pg_column_compression(${column}) IS NULL THEN pg_column_size(${column}) ELSE octet_length(${column}::text) END, 0)::bigint`;

/** The columns of a saga that a repeated start is compared with: the input is the one that it was started with. */
const COMPARED = `id, name, correlation_id, CASE WHEN input_replaced THEN started_input ELSE input END AS input,
      locked_by, epoch`;

/**
 * The sagas that kept others from being started, the first of them whose inputs have no more than $5 bytes together, one at
 * least. Index lookups: the lateral subquery cannot be joined any other way.
 */
export const existingSql = (schema: string): string => `
SELECT e.n, e.id, e.name, e.correlation_id, e.input::text AS input, e.locked_by, e.epoch,
  (extract(epoch FROM now()) * 1000)::float8 AS now
FROM (
  SELECT w.n, i.*, sum(${exactBytes('i.input')}) OVER (ORDER BY w.n) AS bytes, row_number() OVER (ORDER BY w.n) AS place
  FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[]) AS w(n, id, name, correlation_id)
  CROSS JOIN LATERAL (
    (SELECT ${COMPARED} FROM ${schema}.instance WHERE id = w.id)
    UNION ALL
    (SELECT ${COMPARED} FROM ${schema}.instance
     WHERE name = w.name AND correlation_id = w.correlation_id)
    LIMIT 1) i) e
WHERE e.bytes <= $5 OR e.place = 1`;
