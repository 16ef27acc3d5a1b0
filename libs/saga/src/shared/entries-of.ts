/** The entries of an object that is read once; undefined: it is none, or cannot be read. */
export function entriesOf(given: unknown): [string, unknown][] | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  try {
    if (Array.isArray(given)) return undefined;
    const entries: [string, unknown][] = Object.entries(given);
    // A Map, or a Date, has none of that kind, and would be taken for an object that is empty.
    return entries.length > 0 || isPlain(given) ? entries : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it is a plain object, of any realm: its prototype is the last of the chain. */
function isPlain(given: object): boolean {
  const prototype = Object.getPrototypeOf(given) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
