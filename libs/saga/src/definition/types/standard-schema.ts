/**
 * A schema of any library that implements Standard Schema (https://standardschema.dev), version 1: zod from 3.24,
 * valibot from 1.0, arktype from 2.0, and others. It declares only the members that this package uses.
 */
export interface StandardSchema {
  /** The members of the standard. */
  readonly '~standard': {
    /** The version of the standard. */
    readonly version: 1;
    /** The library that made the schema, such as `zod`. */
    readonly vendor: string;
    /** Validates a value, synchronously or not. It reports problems and does not throw. */
    readonly validate: (value: unknown) => StandardSchemaResult | Promise<StandardSchemaResult>;
  };
}

/** The result of a validation: `issues`, or the output `value` if there are none. */
export type StandardSchemaResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardSchemaIssue[] };

/** A problem of a value. */
export interface StandardSchemaIssue {
  /** The text of the problem. */
  readonly message: string;
  /** The path in the value. Absent for the value as a whole. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

/** Returns whether a value is a schema. arktype's schemas are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  try {
    const standard = (value as Partial<StandardSchema> | null | undefined)?.['~standard'];
    return typeof standard?.validate === 'function';
  } catch {
    // A proxy, or a getter that throws.
    return false;
  }
}
