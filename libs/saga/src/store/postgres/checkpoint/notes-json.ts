import type { RepeatedError, StepNote, StepNotes } from '../../../machine/step-notes.js';

/** A note of a retry whose error repeats: the time, attempts, failures, when the next attempt is due, and the errors. */
type RetryJson = readonly [
  at: number,
  attempts: number,
  failures: number,
  retryAt: number,
  repeats: readonly RepeatedError[],
];

/**
 * Notes as a saga's row has them, by the step's name. Each checkpoint writes them, so the two that nearly all notes are have
 * a short form. A number is the time of a compensation that succeeded at its first attempt.
 */
export type NotesJson = Readonly<Record<string, StepNote | RetryJson | number>>;

const COMPENSATED = { status: 'compensated', compensationAttempts: 1 } as const;

export function notesToJson(notes: StepNotes): NotesJson {
  return Object.fromEntries([...notes].map(([key, note]) => [key, toJson(note)]));
}

export function notesOfJson(json: NotesJson): StepNotes {
  return new Map(Object.entries(json).map(([key, value]) => [key, ofJson(value)]));
}

function toJson(note: StepNote): NotesJson[string] {
  if (isPlain(note)) return note.at;
  const { at, attempts, failures, retryAt, repeats } = note;
  const isRepeated = attempts !== undefined && failures !== undefined && typeof retryAt === 'number';
  if (!isRepeated || repeats === undefined || Object.keys(note).length !== 5) return note;
  return [at, attempts, failures, retryAt, repeats];
}

function ofJson(json: NotesJson[string]): StepNote {
  if (typeof json === 'number') return { at: json, ...COMPENSATED };
  if (!isRetry(json)) return json;
  const [at, attempts, failures, retryAt, repeats] = json;
  return { at, attempts, failures, retryAt, repeats };
}

function isRetry(json: NotesJson[string]): json is RetryJson {
  return Array.isArray(json);
}

function isPlain(note: StepNote): boolean {
  const { status, compensationAttempts } = note;
  return (
    status === COMPENSATED.status &&
    compensationAttempts === COMPENSATED.compensationAttempts &&
    Object.keys(note).length === 3
  );
}
