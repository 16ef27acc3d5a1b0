import { SagaValidationError } from '../errors/saga-errors.js';
import { shown } from '../definition/shown-value.js';
import { serializeError } from '../engine/serialize-error.js';

/**
 * What a caller gave as an object of options: those with these names, each read once, so that what is checked is what
 * is used. Callers without a compiler may give anything.
 * @param what begins the message: `start(): options`
 * @throws SagaValidationError when it is no object, or cannot be read
 */
export function readOptions<T extends object>(
  what: string,
  given: T | undefined,
  names: readonly (keyof T & string)[],
): Partial<T> {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null)
    throw new SagaValidationError(`${what} is ${shown(given)}; give an object.`);
  const options: Partial<T> = {};
  for (const name of names) {
    try {
      if (name in given) options[name] = given[name];
    } catch (error) {
      throw new SagaValidationError(
        `${what}: ${name} could not be read: ${serializeError(error).message}. Give a plain object.`,
        { cause: error },
      );
    }
  }
  return options;
}

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

/** Also one of another realm: at the end of its chain of prototypes. */
function isPlain(given: object): boolean {
  const prototype = Object.getPrototypeOf(given) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
