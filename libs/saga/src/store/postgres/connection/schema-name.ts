import { shown } from '../../../shared/shown-value.js';

/** PostgreSQL keeps these for itself. */
const RESERVED = /^pg_|^information_schema$/;
/** Names of prepared statements and channels are made of it, and have 63 characters at most. */
export const LONGEST_SCHEMA = 48;
const SCHEMA = new RegExp(`^[a-z_][a-z0-9_]{0,${LONGEST_SCHEMA - 1}}$`);

/** What is wrong with the name of a schema, with the fix; undefined: nothing. It is part of SQL as it stands. */
export function schemaFlaw(schema: unknown): string | undefined {
  if (typeof schema !== 'string' || !SCHEMA.test(schema)) {
    return `schema is ${shown(schema)}; give a lower-case name of letters, digits and _, ${LONGEST_SCHEMA} characters at most`;
  }
  return RESERVED.test(schema)
    ? `schema '${schema}' is reserved by PostgreSQL; give another name`
    : undefined;
}
