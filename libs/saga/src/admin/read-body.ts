import { readObject } from '../shared/read-object.js';
import { textOfDiagnostic, textOfProblems } from '../shared/diagnostic.js';
import { shown } from '../shared/shown-value.js';
import { SagaValidationError } from '../errors.js';

/**
 * Reads the body of an action: a JSON object with no other fields than these. The call that receives a field validates
 * its value.
 * @param below the field of the body that has them, with a dot: `filter.`
 * @throws SagaValidationError
 */
export function readBody<const Name extends string>(
  body: unknown,
  names: readonly Name[],
  below = '',
): Partial<Record<Name, unknown>> {
  if (body === undefined || body === null) return {};
  const what = below === '' ? 'The body' : `The body's ${below.slice(0, -1)}`;
  const read = readObject<Record<Name, unknown>>(body, names, below);
  if (!read) throw new SagaValidationError(`${what} is ${shown(body)}; send a JSON object.`);
  if (read.flaws.length > 0)
    throw new SagaValidationError(`${what}: ${textOfProblems(read.flaws.map(textOfDiagnostic))}`);
  return read.options;
}
