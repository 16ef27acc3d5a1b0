/** The name of the schema in a frozen text: no SQL of a migration has it otherwise. */
export const SCHEMA_NAME = '{schema}';

/** The statements of a migration, in their order. The schema's name is `{schema}` in a frozen text. */
export interface MigrationSql {
  readonly up: readonly string[];
  readonly down: readonly string[];
}

/** The statements of the migration that partitions the tables. What lies between them depends on the tables' rows. */
export interface PartitionSql {
  /** The index and the tables that partitioned tables need. */
  readonly tables: readonly string[];
  /** The functions of partitioned tables. */
  readonly functions: readonly string[];
  /** The reverse: drops the functions of partitioned tables and restores the others. */
  readonly undoFunctions: readonly string[];
  readonly undoTables: readonly string[];
}

/** Returns a frozen text for a schema, whose name was checked: it becomes part of the SQL as it is. */
export function forSchema(frozen: string, schema: string): string {
  return frozen.replaceAll(SCHEMA_NAME, () => schema);
}
