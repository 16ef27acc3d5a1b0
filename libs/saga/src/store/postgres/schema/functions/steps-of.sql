-- name: all_steps
-- The steps of all sagas as they stand, for people and their queries, and for the entity SagaStep; the engine does not call it.
-- Rows of `step` alone are as they were last written, and the saga's row has the small changes since then
-- (machine/step-notes.ts). The view `step_state` selects from it.
--
-- A function behind the view: partitions rename the tables and create others, which a view over them would follow or forbid.
-- PostgreSQL makes the function a part of the statement that selects from it, and its conditions with it.
--
-- Plan: for the steps of some sagas the steps by primary key, and for each the row of its saga. LIMIT keeps the two from being
-- joined before anything else, as PostgreSQL did in a left join whose sagas it did not know when it planned: both tables from
-- end to end.
CREATE OR REPLACE FUNCTION saga.all_steps()
RETURNS TABLE (saga_id uuid, name text, :STATE_COLUMN_TYPES, progress json, started_at timestamptz,
  updated_at timestamptz) LANGUAGE sql STABLE AS $function$
  SELECT s.saga_id, s.name,
    :NOTED_COLUMNS,
    s.progress,
    s.started_at,
    CASE WHEN n.note IS NULL THEN s.updated_at
      ELSE i.created_at + (CASE n.form WHEN 'number' THEN n.note #>> '{}' WHEN 'array' THEN n.note->>0
        ELSE n.note->>'at' END)::float8 * interval '1 millisecond' END
  FROM saga.step s
  CROSS JOIN LATERAL (SELECT m.created_at, m.progress FROM saga.instance m WHERE m.id = s.saga_id LIMIT 1) AS i
  CROSS JOIN LATERAL (SELECT i.progress->'notes'->s.name AS note) AS of_step
  CROSS JOIN LATERAL (
    SELECT of_step.note, json_typeof(of_step.note) AS form,
      CASE json_typeof(of_step.note) WHEN 'array' THEN of_step.note->4 ELSE of_step.note->'repeats' END AS repeats) AS n
$function$;

-- name: steps_of
-- The steps of one saga as they stand, in the order in which they began. Beside rows of sagas:
-- `FROM saga.instance i, saga.steps_of(i.id) s`. $1 the saga's id.
CREATE OR REPLACE FUNCTION saga.steps_of(uuid)
RETURNS TABLE (name text, :STATE_COLUMN_TYPES, started_at timestamptz,
  updated_at timestamptz) LANGUAGE sql STABLE AS $function$
  SELECT s.name, :STATE_COLUMNS, s.started_at, s.updated_at
  FROM saga.all_steps() s
  WHERE s.saga_id = $1
  ORDER BY s.started_at, s.name
$function$;
