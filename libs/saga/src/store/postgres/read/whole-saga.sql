-- fragment: STORED_SAGA_COLUMNS(in_parts)
-- The row of the saga i with its steps and signals as JSON, for statements that read whole sagas.
-- in_parts: a condition on which its steps and signals are left to statements of their own.
  :STORED_FIELDS, coalesce(:in_parts, false) AS "inParts",
  CASE WHEN :in_parts THEN NULL ELSE (SELECT json_agg(:STEP_JSON)
    FROM saga.step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN :in_parts THEN NULL ELSE :PENDING_SIGNALS END AS signals

-- fragment: STORED_SAGA_TYPES
-- These columns, as a function declares that it returns them.
:STORED_TYPES, "inParts" boolean, steps json, signals json

-- fragment: STEP_JSON
-- The step s as JSON.
json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', :MS(s.started_at), 'updatedAt', :MS(s.updated_at))

-- fragment: PAGE_OF_SAGAS(sagas, more)
-- Sagas of these ids, in this order, up to a number of bytes; `more`: there are others of them left to read.
-- sagas: a query that gives their ids. more: further columns of the row of the saga i.
WITH found AS MATERIALIZED (SELECT ARRAY(:sagas) AS ids),
paged AS MATERIALIZED (SELECT f.ids AS found, p.ids, p.in_parts FROM found f CROSS JOIN LATERAL saga.page(f.ids, :page_bytes::bigint) p)
SELECT cardinality(paged.found) > cardinality(paged.ids) AS more, t.*
FROM paged CROSS JOIN LATERAL (
  SELECT w.place, :STORED_SAGA_COLUMNS(paged.in_parts):more
  FROM unnest(paged.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM saga.instance h WHERE h.id = w.id LIMIT 1) i) t
ORDER BY t.place

-- name: stepPart
-- A part of a saga's steps. id the saga's id, after the name of the last one before it, bytes bytes.
SELECT :STEP_JSON AS step FROM saga.step s
WHERE s.saga_id = :id::uuid AND s.name > :after::text AND s.name <= (SELECT saga.step_part(:id::uuid, :after::text, :bytes::bigint))
ORDER BY s.name;

-- name: signalPart
-- A part of what a saga was sent and has not taken yet, in order; `more`: there may be others after it.
-- id the saga's id, after the number of the last one before it, bytes bytes.
SELECT i.signals > p.last AS more, :PENDING_JSON(g) AS signal
FROM (SELECT saga.signal_part(:id::uuid, :after::int, :bytes::bigint) AS last OFFSET 0) p
CROSS JOIN LATERAL (SELECT * FROM saga.instance WHERE id = :id::uuid) i
CROSS JOIN LATERAL (SELECT * FROM saga.signal s WHERE s.saga_id = i.id AND s.number > :after::int AND s.number <= p.last
  AND :IS_PENDING(s) ORDER BY s.number) g;

-- name: stands
-- Is it still as it was read before its parts were? id the saga's id.
SELECT epoch, checkpoints FROM saga.instance WHERE id = :id::uuid;
