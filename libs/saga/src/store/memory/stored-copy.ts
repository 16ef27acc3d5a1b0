/** A deep copy of data (plain objects, arrays, maps), as a database would give it back: nothing is shared. */
export function storedCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  return copyObject(value) as T;
}

function copyObject(value: object): object {
  if (value instanceof Map) {
    const copy = new Map<unknown, unknown>();
    for (const [key, item] of value) copy.set(key, storedCopy<unknown>(item));
    return copy;
  }
  if (Array.isArray(value)) return value.map((item) => storedCopy<unknown>(item));
  // The copy has each key as its own already, so that setting `__proto__` sets no prototype.
  const copy: Record<string, unknown> = { ...value };
  for (const key of Object.keys(copy)) {
    const item = copy[key];
    if (typeof item === 'object' && item !== null) copy[key] = copyObject(item);
  }
  return copy;
}

/** What cannot be stored. */
export class UnstorableError extends Error {}

/**
 * Refuses text that PostgreSQL cannot store, so that a saga cannot pass its tests with it and fail in use.
 * @throws UnstorableError naming the path
 */
export function requireStorable(value: unknown, path: string): void {
  const unstorable = pathOfNul(value, path);
  if (unstorable !== undefined)
    throw new UnstorableError(`${unstorable} contains a NUL character, which cannot be stored; remove it`);
}

/** Nearly all values have none, so that paths are put together only where one is. */
function pathOfNul(value: unknown, path: string): string | undefined {
  if (!hasNul(value)) return undefined;
  if (typeof value !== 'object' || value === null) return path;
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : Object.entries(value);
  for (const [key, item] of entries) {
    const found = pathOfNul(item, `${path}.${String(key)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof Map) {
    for (const item of value.values()) if (hasNul(item)) return true;
    return false;
  }
  return (Array.isArray(value) ? value : Object.values(value)).some(hasNul);
}
