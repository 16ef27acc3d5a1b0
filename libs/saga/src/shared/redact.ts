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
