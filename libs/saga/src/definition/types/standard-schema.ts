/**
 * A schema of any library that keeps to Standard Schema (https://standardschema.dev), version 1: zod from 3.24 on, valibot
 * from 1.0, arktype from 2.0, and others. Only what is asked of it here.
 */
export interface StandardSchema {
  /** What the standard asks of a schema. */
  readonly '~standard': {
    /** Of the standard. */
    readonly version: 1;
    /** The library that made the schema, such as `zod`. */
    readonly vendor: string;
    /** Checks a value, at once or later. It reports what is wrong, and does not throw. */
    readonly validate: (value: unknown) => StandardSchemaResult | Promise<StandardSchemaResult>;
  };
}

/** What a schema says of a value: `issues`, or if there are none, the `value` that it makes of it. */
export type StandardSchemaResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardSchemaIssue[] };

/** One thing that is wrong with a value. */
export interface StandardSchemaIssue {
  /** For people. */
  readonly message: string;
  /** Where in the value; absent: the value as a whole. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

/** An object, or a function, as arktype's schemas are. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  try {
    const standard = (value as Partial<StandardSchema> | null | undefined)?.['~standard'];
    return typeof standard?.validate === 'function';
  } catch {
    // A proxy, or a getter that throws.
    return false;
  }
}
