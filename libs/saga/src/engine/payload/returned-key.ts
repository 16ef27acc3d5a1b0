import { shown } from '../../shared/shown-value.js';
import { ignoreRejection } from '../../shared/ignore-rejection.js';
import { isKey } from './storable-key.js';

/** Longest key that a function of a definition may return, in characters. */
const LONGEST_RETURNED_KEY = 500;

/** The rest of the sentence that names the function which returned it; undefined: it is a key. */
export function returnedKeyFlaw(key: unknown): string | undefined {
  if (isKey(key, LONGEST_RETURNED_KEY)) return undefined;
  ignoreRejection(key);
  const given = typeof key === 'string' ? `a string of ${key.length} characters` : shown(key);
  return (
    `must synchronously return a string of 1 to ${LONGEST_RETURNED_KEY} characters, without NUL or half surrogate ` +
    `pairs; it returned ${given}`
  );
}

/** @throws TypeError if the function of a limit's key has returned something else than a key */
export function keyReturned(key: unknown, name: string): string {
  const flaw = returnedKeyFlaw(key);
  if (flaw !== undefined) throw new TypeError(`${name}() ${flaw}`);
  return key as string;
}
