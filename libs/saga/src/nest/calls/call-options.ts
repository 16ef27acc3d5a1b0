import { readObject, type ReadObject, type UnreadableOption } from '../../shared/read-object.js';
import { textOfDiagnostic, textOfProblems } from '../../shared/diagnostic.js';
import { SagaValidationError } from '../../errors.js';
import { shown } from '../../shared/shown-value.js';
import { serializeError } from '../../engine/payload/serialize-error.js';

/**
 * What a caller gave as an object of options: those with these names, each read once, so that what is checked is what
 * is used. Callers without a compiler may give anything; `undefined` is as if it were not given.
 * @param what begins the message: `start(): options`
 * @param names all the options that there are
 * @throws SagaValidationError when it is no object, has an option that there is not, or cannot be read
 */
export function readOptions<T extends object>(
  what: string,
  given: T | undefined,
  names: readonly (keyof T & string)[],
): Partial<T> {
  if (given === undefined) return {};
  const read = readable(what, () => readObject<T>(given, names));
  if (!read) throw new SagaValidationError(`${what} is ${shown(given)}; give an object.`);
  if (read.flaws.length > 0)
    throw new SagaValidationError(`${what}: ${textOfProblems(read.flaws.map(textOfDiagnostic))}`);
  return read.options;
}

function readable<T extends object>(
  what: string,
  read: () => ReadObject<T> | undefined,
): ReadObject<T> | undefined {
  try {
    return read();
  } catch (error) {
    const { message, cause } = error as UnreadableOption;
    throw new SagaValidationError(
      `${what}: ${message}: ${serializeError(cause).message}. Give a plain object.`,
      { cause },
    );
  }
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
