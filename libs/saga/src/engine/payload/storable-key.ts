/** Longest correlation id, tag and the like, in characters. */
export const LONGEST_KEY = 255;

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
