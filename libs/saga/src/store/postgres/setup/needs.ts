import { MESSAGING_FUNCTIONS } from '../schema/create-messaging-tables.js';
import { SAGA_FUNCTIONS } from '../schema/create-saga-tables.js';
import { PARTITION_FUNCTIONS } from '../schema/functions/partition.function.js';
import type { Partitions } from '../schema/partition-saga-tables.js';
import { messagingMigrations, sagaMigrations } from '../schema/saga-migrations.js';
import { MESSAGING_TABLES, PARTITIONING_TABLES, SAGA_TABLES } from '../schema/tables/table-facts.js';
import type { Sql } from '../connection/sql.js';

/** A migration as TypeORM runs it. Of its query runner it uses `query()` only. */
export interface SagaMigration {
  /** Ends with the time by which migrations are ordered, in ms: 13 digits. */
  readonly name: string;
  /** The comment by which a schema has this migration of this build: see buildMark. */
  readonly mark: string;
  up(sql: Sql): Promise<unknown>;
}

/** What a module finds in its schema once it is migrated. */
export interface Needs {
  readonly module: string;
  /** The function that gives its migrations. */
  readonly migrations: string;
  /** What it is called with beside the schema. */
  readonly options?: string;
  readonly tables: readonly string[];
  readonly sequences: readonly string[];
  readonly functions: readonly string[];
  /** The migrations of a schema, in order. */
  readonly migrationsOf: (schema: string) => SagaMigration[];
}

const instancesOf = (classes: readonly (new () => unknown)[]): SagaMigration[] =>
  classes.map((one) => new one() as SagaMigration);

export const MESSAGING_NEEDS: Needs = {
  module: 'SagaMessagingModule',
  migrations: 'messagingMigrations',
  tables: MESSAGING_TABLES,
  sequences: [],
  functions: MESSAGING_FUNCTIONS,
  migrationsOf: (schema) => instancesOf(messagingMigrations(schema)),
};

export const SAGA_NEEDS: Needs = {
  module: 'SagaModule',
  migrations: 'sagaMigrations',
  tables: [...SAGA_TABLES, ...MESSAGING_TABLES],
  sequences: ['lock_position'],
  functions: [...SAGA_FUNCTIONS, ...MESSAGING_NEEDS.functions],
  migrationsOf: (schema) => instancesOf(sagaMigrations(schema)),
};

/** The needs of a module whose tables are partitioned. */
export const partitionedNeeds = (partitions: Partitions): Needs => ({
  ...SAGA_NEEDS,
  options: `{ partitions: '${partitions}' }`,
  tables: [...SAGA_NEEDS.tables, ...PARTITIONING_TABLES],
  functions: [...SAGA_NEEDS.functions, ...PARTITION_FUNCTIONS],
  migrationsOf: (schema) => instancesOf(sagaMigrations(schema, { partitions })),
});
