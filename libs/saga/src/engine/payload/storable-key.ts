import type { KeyContext, StepContext } from '../../definition/types/contexts.js';
import { ignoreRejection } from '../../shared/ignore-rejection.js';
import { shown } from '../../shared/shown-value.js';

/** Longest correlation id, tag and the like, in characters. */
export const LONGEST_KEY = 255;

const ruleOf = (longest: number) =>
  `a string of 1 to ${longest} characters, without NUL or half surrogate pairs`;

export const KEY_RULE = ruleOf(LONGEST_KEY);

/**
 * A key that can be stored and indexed.
 * @param longest in characters
 */
export function isKey(value: unknown, longest = LONGEST_KEY): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= longest &&
    !value.includes('\0') &&
    value.isWellFormed()
  );
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A text that PostgreSQL takes for a uuid. */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

/** Longest key that a function of a definition may return, in characters. */
const LONGEST_RETURNED_KEY = 500;

/** The rest of the sentence that names the function which returned it; undefined: it is a key. */
export function returnedKeyFlaw(key: unknown): string | undefined {
  if (isKey(key, LONGEST_RETURNED_KEY)) return undefined;
  ignoreRejection(key);
  const given = typeof key === 'string' ? `a string of ${key.length} characters` : shown(key);
  return `must synchronously return ${ruleOf(LONGEST_RETURNED_KEY)}; it returned ${given}`;
}

/** What the key of a step's limit is computed from. The input of a large saga is decoded for a key that reads it only. */
export function keyContext(ctx: StepContext): KeyContext {
  return {
    get input() {
      return ctx.input;
    },
    item: ctx.item,
    get tags() {
      return ctx.tags;
    },
  };
}

/** @throws TypeError if the function of a limit's key has returned something else than a key */
export function keyReturned(key: unknown, name: string): string {
  const flaw = returnedKeyFlaw(key);
  if (flaw !== undefined) throw new TypeError(`${name}() ${flaw}`);
  return key as string;
}
