import { NEEDS_ATTENTION } from '../../../definition/types/saga-status.js';
import { inList } from '../schema/in-list.js';
/**
 * Sagas by their start time and name: how many, their outcomes and their durations. $1 and $2: the ids that each bucket
 * begins with and ends before. $3: the maximum number of sagas read in each. $4: a name, or null.
 *
 * Plan: for each bucket a range scan of instance_pkey that ends after $3 rows, so that its cost is buckets times $3
 * rows, whatever the table holds. Ids made here begin with their time (UUIDv7), so no other index is needed, and rows
 * of one time lie side by side. Ids that users gave are in no order of time and are not counted. The limit is on the
 * range alone: with the name inside of it, looking for a rare one would read the whole range. At 48 buckets of 1,000 in
 * a table of 400,000: 100 ms, most of it sorting. Planned as a nested loop since a LATERAL with a LIMIT can be nothing
 * else.
 */
export const sagaRatesSql = (schema: string): string => `
SELECT b.n::int - 1 AS bucket, r.name AS saga, count(*)::int AS started,
  count(*) FILTER (WHERE r.status = 'completed')::int AS completed,
  count(*) FILTER (WHERE r.status IN ('compensating', 'compensated'))::int AS "turnedBack",
  count(*) FILTER (WHERE r.status IN ${inList(NEEDS_ATTENTION)})::int AS "needPerson",
  count(*) FILTER (WHERE r.status = 'aborted')::int AS aborted,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY r.took) AS p50,
  percentile_cont(0.95) WITHIN GROUP (ORDER BY r.took) AS p95,
  bool_and(r.looked_at < $3) AS complete
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS b(first, past, n)
CROSS JOIN LATERAL (
  SELECT i.*, count(*) OVER () AS looked_at FROM (
    SELECT name, status, extract(epoch FROM finished_at - created_at)::float8 * 1000 AS took
    FROM ${schema}.instance WHERE id >= b.first AND id < b.past ORDER BY id LIMIT $3) i) r
WHERE $4::text IS NULL OR r.name = $4
GROUP BY b.n, r.name ORDER BY b.n, r.name`;

/**
 * The steps of one saga ($4) in the same way, over time: of the first $5 sagas of that name among the first $3 of each
 * bucket. Items of a fan-out count as runs of their step. How long one took is known of those that completed and
 * were not undone since.
 *
 * Plan: as above, and then step_pkey once for each of at most $5 sagas a bucket. At 100 of them: 50 ms.
 */
export const stepRatesSql = (schema: string): string => `
SELECT b.n::int - 1 AS bucket, s.step, count(*)::int AS runs, count(*) FILTER (WHERE s.failed)::int AS failures,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY s.took) AS p50,
  percentile_cont(0.95) WITHIN GROUP (ORDER BY s.took) AS p95
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS b(first, past, n)
CROSS JOIN LATERAL (
  SELECT newest.id FROM (
    SELECT id, name FROM ${schema}.instance WHERE id >= b.first AND id < b.past ORDER BY id LIMIT $3) newest
  WHERE newest.name = $4 LIMIT $5) i
CROSS JOIN LATERAL (
  SELECT split_part(name, '[', 1) AS step, failures > 0 OR compensation_failures > 0 AS failed,
    CASE WHEN status = 'completed' THEN extract(epoch FROM updated_at - started_at)::float8 * 1000 END AS took
  FROM ${schema}.step WHERE saga_id = i.id AND attempts > 0) s
GROUP BY b.n, s.step ORDER BY b.n, s.step`;
