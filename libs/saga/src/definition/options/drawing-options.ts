import { SagaValidationError } from '../../errors.js';
import { readObject } from '../../shared/read-object.js';
import { textOfDiagnostic, textOfProblems } from '../../shared/diagnostic.js';

/** The options of a drawing. Runs in browsers too. @throws SagaValidationError for one that there is not */
export function drawingOptions<T extends object>(
  call: string,
  given: T,
  known: readonly (keyof T & string)[],
): Partial<T> {
  const read = readObject<T>(given, known);
  if (!read) throw new SagaValidationError(`${call}(): options are not an object; give an object.`);
  if (read.flaws.length > 0)
    throw new SagaValidationError(`${call}(): ${textOfProblems(read.flaws.map(textOfDiagnostic))}`);
  return read.options;
}
