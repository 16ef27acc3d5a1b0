import { createMessagingTables } from '../schema/create-messaging-tables.js';
import { createSagaTables } from '../schema/create-saga-tables.js';
import { createdBy } from '../schema/created-objects.js';
import type { Partitions } from '../schema/partition-saga-tables.js';
import { partitionParts } from '../schema/partition-tables.sql.js';
import { DEFAULT_SCHEMA } from '../schema/saga-entities.js';
import { messagingMigrations, sagaMigrations } from '../schema/saga-migrations.js';
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

export const instancesOf = (classes: readonly (new () => unknown)[]): SagaMigration[] =>
  classes.map((one) => new one() as SagaMigration);

/** What these statements create, as a module needs it. */
export const createdParts = (statements: readonly string[]) => ({
  tables: createdBy(statements, 'TABLE'),
  sequences: createdBy(statements, 'SEQUENCE'),
  // steps_of is for people and their queries.
  functions: createdBy(statements, 'FUNCTION').filter((name) => name !== 'steps_of'),
});
const MESSAGING_STATEMENTS = createMessagingTables(DEFAULT_SCHEMA);
const SAGA_STATEMENTS = [...createSagaTables(DEFAULT_SCHEMA), ...MESSAGING_STATEMENTS];

export const MESSAGING_NEEDS: Needs = {
  module: 'SagaMessagingModule',
  migrations: 'messagingMigrations',
  ...createdParts(MESSAGING_STATEMENTS),
  migrationsOf: (schema) => instancesOf(messagingMigrations(schema)),
};

export const SAGA_NEEDS: Needs = {
  module: 'SagaModule',
  migrations: 'sagaMigrations',
  ...createdParts(SAGA_STATEMENTS),
  migrationsOf: (schema) => instancesOf(sagaMigrations(schema)),
};

/** The needs of a module whose tables are partitioned. */
export const partitionedNeeds = (partitions: Partitions): Needs => {
  const { tables, functions } = partitionParts(DEFAULT_SCHEMA);
  return {
    ...SAGA_NEEDS,
    options: `{ partitions: '${partitions}' }`,
    ...createdParts([...SAGA_STATEMENTS, ...tables, ...functions]),
    migrationsOf: (schema) => instancesOf(sagaMigrations(schema, { partitions })),
  };
};
