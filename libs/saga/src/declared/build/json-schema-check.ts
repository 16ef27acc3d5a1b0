import type { ErrorObject } from 'ajv';
import type { StandardSchema, StandardSchemaResult } from '../../definition/types/standard-schema.js';
import type { Packages } from '../packages.js';

/** Problems of a value that are reported. */
const MOST_ISSUES = 20;

/** A Standard Schema that checks synchronously and changes nothing. */
export interface JsonSchemaCheck extends StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardSchemaResult;
  };
}

/**
 * A JSON Schema as a Standard Schema, which `@Saga({ input })` takes and results are checked by. Formats are annotations, as the standard says.
 * @throws Error when the schema is invalid; the message names the keyword
 */
export function jsonSchemaCheck({ Ajv }: Pick<Packages, 'Ajv'>, schema: object | boolean): JsonSchemaCheck {
  const ajv = new Ajv({
    ...{ allErrors: true, validateFormats: false },
    ...{ strictTypes: false, strictRequired: false, strictTuples: false, logger: false },
  });
  const validate = ajv.compile(schema);
  return {
    '~standard': {
      version: 1,
      vendor: 'nestjs-durable-saga',
      validate: (value): StandardSchemaResult =>
        validate(value) ? { value } : { issues: (validate.errors ?? []).slice(0, MOST_ISSUES).map(issueOf) },
    },
  };
}

function issueOf({ instancePath, message = 'is invalid', params }: ErrorObject) {
  const extra = (params as { additionalProperty?: unknown }).additionalProperty;
  const path = instancePath.split('/').slice(1).map(unescaped);
  return { path, message: typeof extra === 'string' ? `must not have the property '${extra}'` : message };
}

/** A part of a JSON pointer. */
function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
