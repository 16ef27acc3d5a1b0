import { stepOfPath } from './value-path.js';

/** What stands in the place of a value that is not to be seen. */
export const REDACTED = '[redacted]';

/** A key of an object, or an index of an array, whichever. */
const ANY = '*';

/**
 * A copy of a JSON value without what is not to be seen. A path names keys and indices from the top, with dots between
 * them; `*` is any of them. Past the end of a value, `*` is the value itself: `['*']` leaves nothing of it.
 */
export function redact(value: unknown, paths: readonly string[]): unknown {
  return paths.length === 0
    ? value
    : without(
        value,
        paths.map((path) => path.split('.')),
      );
}

/**
 * A copy of a JSON value that was changed where it is shown: what is redacted in it, at a path that is, is as it was before.
 * @param missing is called with the path of a redacted part that no value before belongs to: a list of another length may have
 * lost any of its elements
 */
export function withRedacted(
  value: unknown,
  before: unknown,
  paths: readonly string[],
  missing: (path: string) => never,
): unknown {
  // A text that only reads so is not hidden.
  const told = JSON.stringify(value, (_, inner: unknown) => (inner === REDACTED ? null : inner));
  const hidden = redact(JSON.parse(told), paths);
  const kept = (now: unknown, shown: unknown, was: unknown, path: string, isSure: boolean): unknown => {
    if (now === REDACTED && shown === REDACTED) return was === undefined || !isSure ? missing(path) : was;
    if (typeof now !== 'object' || now === null || shown === REDACTED) return now;
    const parts = shown as Record<string, unknown>;
    const old = (typeof was === 'object' && was !== null ? was : {}) as Record<string, unknown>;
    const part = (key: string, inner: unknown, sure: boolean): unknown => {
      const step = stepOfPath(Array.isArray(now) ? Number(key) : key);
      return kept(inner, parts[key], Object.hasOwn(old, key) ? old[key] : undefined, path + step, sure);
    };
    if (Array.isArray(now)) {
      const isSame = isSure && Array.isArray(was) && was.length === now.length;
      return now.map((inner, n) => part(String(n), inner, isSame));
    }
    return Object.fromEntries(Object.entries(now).map(([key, inner]) => [key, part(key, inner, isSure)]));
  };
  return kept(value, hidden, before, '', true);
}

function without(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (value === undefined || paths.length === 0) return value;
  if (paths.some((path) => path.length === 0)) return REDACTED;
  if (typeof value !== 'object' || value === null) return paths.some(isWhole) ? REDACTED : value;
  const part = (key: string, inner: unknown): unknown =>
    without(
      inner,
      paths.filter(([first]) => first === key || first === ANY).map((path) => path.slice(1)),
    );
  if (Array.isArray(value)) return value.map((item: unknown, index) => part(String(index), item));
  // Not by assignment, for the sake of a key named __proto__.
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, part(key, inner)]));
}

function isWhole(path: readonly string[]): boolean {
  return path.every((key) => key === ANY);
}
