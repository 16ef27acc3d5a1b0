import { eachStepColumn, type StepColumn, type StepColumnField } from '../step-row.js';

const noted = ({ field, name, kind, type, isNoted }: StepColumn): string => {
  const column = `s.${name}`;
  if (!isNoted) return column;
  if (kind !== 'time') return `coalesce((n.note->>'${field}')::${type}, ${column})`;
  // Null in a note: it waits for no time any more.
  return `CASE WHEN n.note->'${field}' IS NULL THEN ${column} ELSE to_timestamp((n.note->>'${field}')::float8 / 1000) END`;
};

/** What the short forms of notes say: a number, and an array. See notes-json.ts. */
const IN_SHORT_NOTES: { readonly [Field in StepColumnField]?: (otherwise: string) => string } = {
  status: (otherwise) => `CASE n.form WHEN 'number' THEN 'compensated' ELSE ${otherwise} END`,
  compensationAttempts: (otherwise) => `CASE n.form WHEN 'number' THEN 1 ELSE ${otherwise} END`,
  attempts: (otherwise) => `CASE n.form WHEN 'array' THEN (n.note->>1)::int ELSE ${otherwise} END`,
  failures: (otherwise) => `CASE n.form WHEN 'array' THEN (n.note->>2)::int ELSE ${otherwise} END`,
  retryAt: (otherwise) =>
    `CASE n.form WHEN 'array' THEN to_timestamp((n.note->>3)::float8 / 1000) ELSE ${otherwise} END`,
  errors: (otherwise) =>
    `CASE WHEN n.repeats IS NULL THEN ${otherwise} ELSE (s.errors::jsonb || n.repeats::jsonb)::json END`,
};
const asItIs = (text: string): string => text;

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
RETURNS TABLE (name text, ${eachStepColumn(({ name, type }) => `${name} ${type}`)}, started_at timestamptz,
  updated_at timestamptz) LANGUAGE sql STABLE AS $function$
  SELECT s.name,
    ${eachStepColumn((column) => (IN_SHORT_NOTES[column.field] ?? asItIs)(noted(column)))},
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
