import { Ajv2020 } from 'ajv/dist/2020.js';
import {
  type StandardSchema,
  type StandardSchemaIssue,
  type StandardSchemaResult,
  UnknownOutcomeError,
} from 'nestjs-durable-saga';
import type { Evaluator } from '../expression/evaluator.js';

/**
 * A JSON Schema as a Standard Schema that changes nothing, which `@Saga({ input })` takes and results are checked by. Values
 * are checked where expressions are evaluated: a `pattern` can take for ever.
 * @throws Error when the schema is invalid; the message names the keyword
 */
export function jsonSchemaCheck(schema: object | boolean, evaluator: Evaluator): StandardSchema {
  const lax = { strictTypes: false, strictRequired: false, strictTuples: false } as const;
  new Ajv2020({ validateFormats: false, logger: false, ...lax }).compile(schema);
  const text = JSON.stringify(schema);
  return {
    '~standard': {
      version: 1,
      vendor: 'nestjs-durable-saga',
      validate: async (value): Promise<StandardSchemaResult> => {
        const issues = await evaluator.check(text, value);
        return issues.length === 0 ? { value } : { issues };
      },
    },
  };
}

/**
 * Returns a check that results pass through before they are stored. It throws UnknownOutcomeError, which shows no value:
 * the participant did its work, so the step is compensated, too.
 */
export function resultCheck(step: string, schema: StandardSchema | undefined): <T>(result: T) => Promise<T> {
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
