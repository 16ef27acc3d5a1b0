import type { StandardSchemaIssue } from '../../definition/types/standard-schema.js';
import { UnknownOutcomeError } from '../../errors.js';
import type { JsonSchemaCheck } from './json-schema-check.js';

/**
 * Returns a check that results pass through before they are stored. It throws UnknownOutcomeError, which shows no value:
 * the participant did its work, so the step is compensated, too.
 */
export function resultCheck(step: string, schema: JsonSchemaCheck | undefined): <T>(result: T) => Promise<T> {
  if (!schema) return async (result) => result;
  return async (result) => {
    const { issues } = await schema['~standard'].validate(result);
    if (!issues) return result;
    throw new UnknownOutcomeError(
      `The result of step '${step}' does not satisfy its resultSchema: ${issues.map(textOfIssue).join(', ')}. ` +
        'Correct the participant, or the schema',
    );
  };
}

function textOfIssue({ path = [], message }: StandardSchemaIssue): string {
  return `${['result', ...path.map(String)].join('.')} ${message}`;
}
