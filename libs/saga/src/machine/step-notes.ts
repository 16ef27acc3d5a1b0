import { isSameError, attemptError, ERRORS_KEPT } from './attempt-errors.js';
import type { AttemptError } from '../definition/types/saga-failure.js';
import {
  type SagaState,
  STEP_FIELDS,
  type StepField,
  type StepFieldWith,
  type StepState,
} from './saga-state.js';

/**
 * How many steps of a saga have notes at most. The saga's row has the notes, and each checkpoint writes them all: beyond
 * this, writing the steps' rows costs less.
 */
export const MOST_NOTES = 8;

/** An attempt that failed with the same error as the attempt before: its number, and when (milliseconds since the epoch). */
export type RepeatedError = readonly [attempt: number, at: number, during: AttemptError['during']];

/**
 * What has changed of a step since its row was written: small values, which the saga's row keeps until the step's row is
 * written again. It is written with each checkpoint anyway. A step's row has the result and the errors, and is not HOT.
 */
export interface StepNote extends Partial<Omit<Pick<StepState, NotedKey>, 'retryAt'>> {
  /**
   * When something about the step was last recorded, in milliseconds since the saga was created: few digits, which each
   * checkpoint writes.
   */
  readonly at: number;
  /** Null: the step does not wait for a time any more. */
  readonly retryAt?: number | null;
  readonly repeats?: readonly RepeatedError[];
}

/** By the step's name, or the item's key. */
export type StepNotes = ReadonlyMap<string, StepNote>;

type NotedKey = StepFieldWith<{ readonly isNoted: true }>;

/** What a note has room for, beside repeated errors, and what it has no room for. */
const NOTED: NotedKey[] = [];
const ROWS_ONLY: (keyof StepState)[] = [];
for (const [name, { isNoted }] of Object.entries(STEP_FIELDS as Record<string, StepField>))
  if (isNoted) NOTED.push(name as NotedKey);
  else if (name !== 'errors') ROWS_ONLY.push(name as keyof StepState);

/** The step as its row and its note have it together. */
export function withNote(step: StepState, { at: _, repeats, retryAt, ...changes }: StepNote): StepState {
  const noted = { ...step, ...changes, errors: withRepeats(step.errors, repeats) };
  return retryAt === undefined ? noted : { ...noted, retryAt: retryAt ?? undefined };
}

/**
 * The note of a step after a change; undefined: its row has to be written.
 * @param before as it is stored, notes included
 * @param earlier its note so far
 */
export function noteOf(
  before: StepState,
  after: StepState,
  at: number,
  earlier?: StepNote,
): StepNote | undefined {
  if (!isSmall(before, after)) return undefined;
  const repeated = repeatsIn(before.errors, after.errors);
  if (repeated === undefined) return undefined;
  const repeats = [...(earlier?.repeats ?? []), ...repeated].slice(-ERRORS_KEPT);
  const changes: Record<string, unknown> = {};
  for (const key of NOTED) if (before[key] !== after[key]) changes[key] = after[key] ?? null;
  return { ...earlier, ...changes, at, ...(repeats.length > 0 && { repeats }) };
}

/** What a checkpoint writes of the steps. */
export interface NotedChanges {
  /** The steps that changed, and those whose row is written although they did not change. */
  readonly changed: readonly string[];
  /** Undefined: there are none. A step of `changed` that is among them needs no row. */
  readonly notes: StepNotes | undefined;
}

/**
 * Which of these changes are noted. The others are written as rows. If there would be too many notes, all become rows.
 * @param saved the state that is stored
 * @param notes those that are stored
 */
export function noteChanges(
  [saved, state]: readonly [SagaState, SagaState],
  changed: readonly string[],
  notes: StepNotes | undefined,
  at: number,
): NotedChanges {
  let next: Map<string, StepNote> | undefined;
  for (const key of changed) {
    const before = saved.steps.get(key);
    // A step without a row has no note either.
    if (before === undefined) continue;
    const note = noteOf(before, state.steps.get(key)!, at, notes?.get(key));
    next ??= new Map(notes);
    if (note) next.set(key, note);
    else next.delete(key);
  }
  if (next === undefined) return { changed, notes };
  if (next.size > MOST_NOTES)
    return { changed: [...new Set([...changed, ...next.keys()])], notes: undefined };
  return { changed, notes: next.size > 0 ? next : undefined };
}

/** The notes once these steps' rows are written. */
export function withoutNotes(
  notes: StepNotes | undefined,
  written: readonly string[],
): StepNotes | undefined {
  if (notes === undefined) return undefined;
  const left = new Map(notes);
  for (const key of written) left.delete(key);
  return left.size > 0 ? left : undefined;
}

/** All that differs is what a note has room for. */
function isSmall(before: StepState, after: StepState): boolean {
  for (const key of ROWS_ONLY) if (before[key] !== after[key]) return false;
  return true;
}

/** The errors that came after those of before, if all are the same as the last of those. */
function repeatsIn(
  before: readonly AttemptError[],
  after: readonly AttemptError[],
): RepeatedError[] | undefined {
  if (before === after) return [];
  const last = before.at(-1);
  const kept = last === undefined ? 0 : after.lastIndexOf(last) + 1;
  const isSame = after.slice(0, kept).every((error, n) => error === before[before.length - kept + n]);
  if (last === undefined || kept === 0 || !isSame) return before.length + after.length === 0 ? [] : undefined;
  const added = after.slice(kept);
  // Those that were dropped are what the list has no room for: the same is dropped when the note is read.
  if (Math.min(before.length + added.length, ERRORS_KEPT) !== after.length) return undefined;
  if (!added.every((error) => isSameError(error, last))) return undefined;
  return added.map(({ attempt, at, during }) => [attempt, Date.parse(at), during]);
}

function withRepeats(
  errors: readonly AttemptError[],
  repeats: readonly RepeatedError[] | undefined,
): readonly AttemptError[] {
  const last = errors.at(-1);
  if (repeats === undefined || last === undefined) return errors;
  return [...errors, ...repeats.map((repeat) => attemptError(last, ...repeat))].slice(-ERRORS_KEPT);
}
