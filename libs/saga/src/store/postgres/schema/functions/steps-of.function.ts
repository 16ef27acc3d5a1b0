/**
 * steps_of: the steps of a saga, for people and their queries; the engine does not call it. Rows of `step` alone are as they
 * were last written, and the saga's row has the small changes since then (machine/step-notes.ts). Beside rows of sagas:
 * `FROM saga.instance i, saga.steps_of(i.id) s`.
 *
 * A function, not a view: partitions rename the tables and create others, which a view would follow or forbid.
 *
 * Plan: both by primary key. $1 the saga's id.
 */
export const stepsOfFunction = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.steps_of(uuid)
RETURNS TABLE (name text, status text, attempts int, failures int, "unknown" boolean, compensation_attempts int,
  compensation_failures int, retry_at timestamptz, result json, errors json, started_at timestamptz,
  updated_at timestamptz) LANGUAGE sql STABLE AS $function$
  SELECT s.name,
    CASE n.form WHEN 'number' THEN 'compensated' ELSE coalesce(n.note->>'status', s.status) END,
    coalesce((CASE n.form WHEN 'array' THEN n.note->>1 ELSE n.note->>'attempts' END)::int, s.attempts),
    coalesce((CASE n.form WHEN 'array' THEN n.note->>2 ELSE n.note->>'failures' END)::int, s.failures),
    coalesce((n.note->>'unknown')::boolean, s."unknown"),
    CASE n.form WHEN 'number' THEN 1
      ELSE coalesce((n.note->>'compensationAttempts')::int, s.compensation_attempts) END,
    coalesce((n.note->>'compensationFailures')::int, s.compensation_failures),
    CASE WHEN n.form = 'array' THEN to_timestamp((n.note->>3)::float8 / 1000)
      WHEN n.note->'retryAt' IS NOT NULL THEN to_timestamp((n.note->>'retryAt')::float8 / 1000)
      ELSE s.retry_at END,
    s.result,
    CASE WHEN n.repeats IS NULL THEN s.errors ELSE (s.errors::jsonb || n.repeats::jsonb)::json END,
    s.started_at,
    CASE WHEN n.note IS NULL THEN s.updated_at
      ELSE i.created_at + (CASE n.form WHEN 'number' THEN n.note #>> '{}' WHEN 'array' THEN n.note->>0
        ELSE n.note->>'at' END)::float8 * interval '1 millisecond' END
  FROM ${schema}.instance i
  JOIN ${schema}.step s ON s.saga_id = i.id
  CROSS JOIN LATERAL (SELECT i.progress->'notes'->s.name AS note) AS of_step
  CROSS JOIN LATERAL (
    SELECT of_step.note, json_typeof(of_step.note) AS form,
      CASE json_typeof(of_step.note) WHEN 'array' THEN of_step.note->4 ELSE of_step.note->'repeats' END AS repeats) AS n
  WHERE i.id = $1
  ORDER BY s.started_at, s.name
$function$`;
