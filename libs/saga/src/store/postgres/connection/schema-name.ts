import type { Kind } from '../../../definition/options/option-reader.js';

/** PostgreSQL keeps these for itself. */
const RESERVED = /^pg_|^information_schema$/;
/** Names of prepared statements and channels are made of it, and have 63 characters at most. */
export const LONGEST_SCHEMA = 48;
const SCHEMA = new RegExp(`^[a-z_][a-z0-9_]{0,${LONGEST_SCHEMA - 1}}$`);

export function isSchemaName(schema: string): boolean {
  return SCHEMA.test(schema) && !RESERVED.test(schema);
}

/** The name of a schema. It is part of SQL as it stands. */
export const schemaName: Kind<string> = {
  read: (value, option, reader) => {
    if (typeof value !== 'string' || !SCHEMA.test(value))
      return reader.refuse(
        value,
        option,
        `give a lower-case name of letters, digits and _, ${LONGEST_SCHEMA} characters at most`,
      );
    if (isSchemaName(value)) return value;
    return void reader.report(`${option} '${value}' is reserved by PostgreSQL`, 'give another name');
  },
};

/** The channel on which processes that share a schema wake each other. */
export function wakeupChannel(schema: string): string {
  return `${schema}_wakeup`;
}
