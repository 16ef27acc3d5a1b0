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
export function optionsNamed<T extends object>(
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
