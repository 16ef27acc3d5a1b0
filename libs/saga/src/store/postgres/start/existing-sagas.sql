-- fragment: COMPARED
-- The columns of a saga that a repeated start is compared with: the input is the one that it was started with.
id, name, correlation_id, CASE WHEN input_replaced THEN started_input ELSE input END AS input,
      locked_by, epoch

-- name: existing
-- The sagas that kept others from being started, the first of them whose inputs have no more than page_bytes bytes together, one at
-- least. Index lookups: the lateral subquery cannot be joined any other way.
SELECT e.n, e.id, e.name, e.correlation_id, e.input::text AS input, e.locked_by, e.epoch,
  (extract(epoch FROM now()) * 1000)::float8 AS now
FROM (
  SELECT w.n, i.*, sum(:EXACT_BYTES(i.input)) OVER (ORDER BY w.n) AS bytes, row_number() OVER (ORDER BY w.n) AS place
  FROM unnest(:places::int[], :ids::uuid[], :names::text[], :correlation_ids::text[]) AS w(n, id, name, correlation_id)
  CROSS JOIN LATERAL (
    (SELECT :COMPARED FROM saga.instance WHERE id = w.id)
    UNION ALL
    (SELECT :COMPARED FROM saga.instance
     WHERE name = w.name AND correlation_id = w.correlation_id)
    LIMIT 1) i) e
WHERE e.bytes <= :page_bytes OR e.place = 1;

-- name: lockHolders
SELECT w.n, saga.lock_holder(w.name, w.key) AS holder
FROM unnest(:places::int[], :names::text[], :keys::text[]) AS w(n, name, key);
