-- name: watch
-- Marks unsettled sagas as watched, so that the checkpoint that settles one announces it. The row's lock orders
-- the two: either the mark comes first and is seen, or the second statement sees the saga settled.
-- Rows are locked in the order of their ids, as checkpoints lock them, so that the two never deadlock.
UPDATE saga.instance SET watched = true
WHERE id = ANY(ARRAY(
  SELECT id FROM saga.instance
  WHERE id = ANY((SELECT :ids::uuid[])::uuid[]) AND NOT watched
    AND status NOT IN :SETTLED
  ORDER BY id FOR NO KEY UPDATE));

-- fragment: AMONG(statuses)
SELECT i.id FROM saga.instance i
  WHERE i.id = ANY((SELECT :ids::uuid[])::uuid[]) AND i.status IN :statuses ORDER BY i.id

-- name: ended
-- Sagas that will not change any more, up to page_bytes.
:PAGE_OF_SAGAS(:AMONG(:ENDED_STATUSES), );

-- name: settled
-- Sagas that are settled, up to page_bytes.
:PAGE_OF_SAGAS(:AMONG(:SETTLED), );

-- name: changed
-- Returns those of these sagas that differ from what was seen of them, with what is to be seen now: see seenOf; null: no such saga.
-- Index lookups: the lateral subquery cannot be joined any other way. ids ids, seen what was seen, or null: nothing.
SELECT w.id, now.seen FROM unnest((SELECT :ids::uuid[]), (SELECT :seen::text[])) AS w(id, seen)
LEFT JOIN LATERAL (
  SELECT concat(i.checkpoints, '.', i.epoch, '.', i.cancel_requested_at IS NOT NULL, i.pause_requested, i.overdue, '.', i.locked_by,
    md5(i.reports::text)) AS seen
  FROM saga.instance i WHERE i.id = w.id LIMIT 1) now ON true
WHERE now.seen IS NULL OR now.seen IS DISTINCT FROM w.seen;

-- name: present
-- These sagas, with what is shown of them alone, up to page_bytes.
:PAGE_OF_SAGAS(:THESE, :SHOWN_ALONE);

-- fragment: THESE
SELECT i.id FROM saga.instance i WHERE i.id = ANY((SELECT :ids::uuid[])::uuid[]) ORDER BY i.id

-- fragment: SHOWN_ALONE
, :AROUND_SAGA

-- name: missing
-- Runs at polls only, for the sagas that calls wait for: each id is looked up in the primary key.
SELECT id FROM unnest(:ids::uuid[]) AS wanted (id)
WHERE NOT EXISTS (SELECT FROM saga.instance i WHERE i.id = wanted.id);
