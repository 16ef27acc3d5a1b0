import { isSchemaName } from '../store/postgres/connection/schema-name.js';
import { DEFAULT_SCHEMA } from '../store/postgres/schema/saga-entities.js';
import type { DATABASE_OPTIONS, ValuesOf } from './command.js';
import { UsageError } from './usage-error.js';

/**
 * Returns the schema of a command.
 * @throws UsageError if it is not a valid name
 */
export function schemaOf({ schema = DEFAULT_SCHEMA }: ValuesOf<typeof DATABASE_OPTIONS>): string {
  if (!isSchemaName(schema))
    throw new UsageError(
      `--schema '${schema}' is not a valid schema name. Give a lower-case name of letters, digits and _`,
    );
  return schema;
}
