import { SagaValidationError } from '../../errors.js';
import { readObject } from '../../shared/read-object.js';
import { textOfDiagnostic, textOfProblems } from '../../shared/diagnostic.js';

/**
 * Returns the options of a drawing, with defaults. Runs in browsers, too.
 * @param defaults all options that the call has
 * @throws SagaValidationError for an unknown option
 */
export function drawingOptions<T extends object>(call: string, given: object, defaults: T): T {
  const read = readObject<T>(given, Object.keys(defaults) as (keyof T & string)[]);
  if (!read) throw new SagaValidationError(`${call}(): options are not an object; give an object.`);
  if (read.flaws.length > 0)
    throw new SagaValidationError(`${call}(): ${textOfProblems(read.flaws.map(textOfDiagnostic))}`);
  return { ...defaults, ...read.options };
}
