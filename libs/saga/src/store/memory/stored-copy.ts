/** A deep copy of data (plain objects, arrays, maps), as a database would give it back: nothing is shared. */
export function storedCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  return copyObject(value) as T;
}

function copyObject(value: object): object {
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, storedCopy<unknown>(item)]));
  if (Array.isArray(value)) return value.map((item) => storedCopy<unknown>(item));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, storedCopy<unknown>(item)]));
}

/**
 * Refuses text that PostgreSQL cannot store, so that a saga cannot pass its tests with it and fail in use.
 * @throws Error naming the path
 */
export function requireStorable(value: unknown, path: string): void {
  if (typeof value === 'string' && value.includes('\0')) {
    throw new Error(`${path} contains a NUL character, which cannot be stored; remove it`);
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of value instanceof Map ? value : Object.entries(value)) {
    requireStorable(item, `${path}.${String(key)}`);
  }
}
