/** The statements of a migration, in their order. */
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
