import type { StepColumn, StepColumnField } from './step-row.js';

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

/** A column of the step `s`, with what the note `n` of its saga says: see steps-of.sql. */
export function notedColumn(column: StepColumn): string {
  const noted = inLongNote(column);
  return IN_SHORT_NOTES[column.field]?.(noted) ?? noted;
}

function inLongNote({ field, name, kind, type, isNoted }: StepColumn): string {
  const column = `s.${name}`;
  if (!isNoted) return column;
  if (kind !== 'time') return `coalesce((n.note->>'${field}')::${type}, ${column})`;
  // Null in a note: it waits for no time any more.
  return `CASE WHEN n.note->'${field}' IS NULL THEN ${column} ELSE to_timestamp((n.note->>'${field}')::float8 / 1000) END`;
}
