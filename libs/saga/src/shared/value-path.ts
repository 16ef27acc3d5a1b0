import { cut } from './shown-value.js';

/** Longest key that a path shows in full. */
const LONGEST_KEY = 200;

/** A key as part of a path in a value: `.price`, `[2]`, `["unit price"]`. */
export function stepOfPath(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`;
  if (key.length > LONGEST_KEY) return `[${JSON.stringify(cut(key, LONGEST_KEY))}]`;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
