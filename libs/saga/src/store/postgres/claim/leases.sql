-- The statements on leases, beside the claim itself: see schema/functions/claim.sql.

-- name: claim
SELECT * FROM saga.claim(:names, :versions, :room, :worker, :lease, :page_bytes, :bytes, :is_alone, :from_rank);

-- name: claimLimited
SELECT taken, epochs, clock AS now, next_due_at
FROM saga.claim_limited(:names, :versions, :limits, :other_names, :other_versions, :room, :worker, :lease);

-- name: claimKeyed
SELECT taken, epochs, clock AS now, next_due_at
FROM saga.claim_keyed(:names, :versions, :limits, :other_names, :other_versions, :room, :worker, :lease);

-- name: enqueue
SELECT ready AS id, deadline, held, deadlock, cancelled, reason FROM saga.lock_enqueue(:ids, :epochs, :names, :keys);

-- name: stayQueued
UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = :id::uuid;

-- fragment: STILL_HELD
-- What is this worker's still, as i. Index lookups: the lateral subquery cannot be joined any other way.
unnest((SELECT :ids::uuid[]), (SELECT :epochs::int[])) WITH ORDINALITY AS w(id, epoch, place)
CROSS JOIN LATERAL (SELECT * FROM saga.instance h
  WHERE h.id = w.id AND h.epoch = w.epoch AND h.locked_by = :worker::text LIMIT 1) i

-- name: claimed
-- Sagas that were just claimed, in the order of their ids, up to page_bytes.
:PAGE_OF_SAGAS(SELECT i.id FROM :STILL_HELD ORDER BY w.place, );

-- name: giveBack
-- Releases leases under which nothing has started: due after delay ms. Takeovers that were counted stay counted. Rows are
-- locked in the order of their ids, as checkpoints lock them. ids ids, epochs epochs, worker worker.
UPDATE saga.instance u SET
  locked_by = NULL,
  due_at = now() + :delay::float8 * interval '1 millisecond',
  rank_at = now() + (:delay::float8 - u.priority * :PRIORITY_POINT_MS) * interval '1 millisecond'
WHERE u.id = ANY(ARRAY(
  SELECT l.id FROM saga.instance l
  WHERE l.id = ANY(ARRAY(SELECT i.id FROM :STILL_HELD)) AND l.locked_by = :worker::text
  ORDER BY l.id FOR NO KEY UPDATE));

-- fragment: IS_HELD
-- The lease of the saga i is still the one that w says.
i.id = w.id AND i.epoch = w.epoch AND i.locked_by = :worker::text

-- fragment: RENEWED
  RETURNING i.id, i.cancel_requested_at IS NOT NULL AS cancel_requested, i.cancel_reason, i.pause_requested
)
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now, r.id, r.cancel_requested, r.cancel_reason, r.pause_requested
FROM (SELECT 1) one LEFT JOIN renewed r ON true

-- fragment: EXTENDED(seen)
-- seen: until when, by the clock as it was, the holder has begun what was due (ms), or null. It counts if the clock was set back since.
due_at = now() + :lease::float8 * interval '1 millisecond',
    rank_at = now() + :lease::float8 * interval '1 millisecond',
    leased_at = CASE WHEN to_timestamp(:seen / 1000) > now() + interval '1 second'
      THEN greatest(i.leased_at, to_timestamp(:seen / 1000)) ELSE i.leased_at END

-- name: renew
-- Extends leases, all of a worker's in one statement, and brings back what was asked of the sagas meanwhile.
-- Rows are locked in the order of their ids, as checkpoints lock them, so that the two never deadlock: a small table is
-- read in another order.
-- Plan: nested loops into instance_pkey; hiding the array in a subquery keeps the planner from expecting many rows, and so from a
-- hash join with the whole table.
WITH w AS (
  SELECT * FROM unnest((SELECT :ids::uuid[]), (SELECT :epochs::int[]), (SELECT :seen::float8[])) AS w(id, epoch, seen)
), held AS MATERIALIZED (
  SELECT i.id, w.seen FROM w JOIN saga.instance i ON :IS_HELD
  ORDER BY i.id FOR NO KEY UPDATE OF i
), renewed AS (
  UPDATE saga.instance i SET
    :EXTENDED(h.seen)
  FROM held h WHERE i.id = h.id
:RENEWED;

-- name: report
-- Renews leases, and stores what the steps in progress report. reports: of each saga, or null: they stay.
WITH w AS (
  SELECT * FROM unnest((SELECT :ids::uuid[]), (SELECT :epochs::int[]), (SELECT :seen::float8[]), (SELECT :reports::text[]))
    AS w(id, epoch, seen, reports)
), held AS MATERIALIZED (
  SELECT i.id, w.seen, w.reports FROM w JOIN saga.instance i ON :IS_HELD
  ORDER BY i.id FOR NO KEY UPDATE OF i
), renewed AS (
  UPDATE saga.instance i SET
    :EXTENDED(h.seen),
    reports = coalesce(h.reports::json, i.reports)
  FROM held h WHERE i.id = h.id
:RENEWED;
