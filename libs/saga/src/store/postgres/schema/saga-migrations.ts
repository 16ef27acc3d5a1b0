import type { MigrationInterface, QueryRunner } from 'typeorm';
import { SagaConfigurationError } from '../../../errors.js';
import { optional, OptionReader, type OptionTable } from '../../../definition/options/option-reader.js';
import { withoutProblems } from '../../../definition/options/read-options.js';
import { DEFAULT_SCHEMA } from './saga-entities.js';
import { schemaName } from '../connection/schema-name.js';
import { buildMark } from './build-mark.js';
import { createMessagingTables } from './create-messaging-tables.js';
import { createSagaTables } from './create-saga-tables.js';
import { dropsOf } from './created-objects.js';
import {
  partitionPeriod,
  partitionSagaTables,
  type Partitions,
  run,
  uniteSagaTables,
} from './partition-saga-tables.js';
import { partitionParts } from './partition-tables.sql.js';

type MigrationClass = new () => MigrationInterface;

/** What `sagaMigrations()` takes beside the schema. */
export interface SagaMigrationsOptions {
  /** As in `SagaModule.forRoot()`; default: none. */
  partitions?: Partitions;
}

/**
 * The migrations for a schema, in order, for applications that run their own: put them into the DataSource's
 * `migrations` and give `SagaModule.forRoot({ migrate: false })`.
 * @throws SagaConfigurationError for a name that no schema of ours can have, or partitions that there are not
 */
export function sagaMigrations(
  schema: string = DEFAULT_SCHEMA,
  options: SagaMigrationsOptions = {},
): MigrationClass[] {
  const { partitions } = checked('sagaMigrations()', schema, options);
  return [
    // TypeORM orders migrations by the time that ends their name.
    migrationOf('CreateSagaTables1763700000000', createSagaTables(schema), 'graph', schema),
    ...messagingMigrations(schema),
    ...(partitions ? [partitionMigration(schema, partitions)] : []),
  ];
}

/**
 * Returns the migrations of the outbox and the inbox alone, for participants that have no sagas; `sagaMigrations()` includes them. With
 * them goes `SagaMessagingModule.forRoot({ migrate: false })`.
 * @throws SagaConfigurationError for a name that no schema of ours can have
 */
export function messagingMigrations(schema: string = DEFAULT_SCHEMA): MigrationClass[] {
  checked('messagingMigrations()', schema, {});
  return [migrationOf('CreateMessagingTables1763700000001', createMessagingTables(schema), 'outbox', schema)];
}

/**
 * A migration of a schema. Until the first release it executes what builds the SQL now; a release freezes that text, because
 * databases of all ages must get the same from a migration (CONTRIBUTING.md).
 * @param marked the table that has its mark: no other migration marks it, and it is not partitioned
 * @param steps what it does. Default: it executes the statements, and drops what they create
 */
export function migrationOf(
  name: string,
  statements: readonly string[],
  marked: string,
  schema: string,
  steps: Steps = {
    up: (sql) => run(sql, statements),
    down: (sql) => run(sql, dropsOf(statements, schema)),
  },
): MigrationClass {
  const mark = buildMark(name, statements, schema);
  return class implements MigrationInterface {
    readonly name = name;
    readonly mark = mark;

    async up(sql: QueryRunner): Promise<void> {
      await steps.up(sql);
      await sql.query(`COMMENT ON TABLE "${schema}".${marked} IS '${mark}'`);
    }

    down(sql: QueryRunner): Promise<void> {
      return steps.down(sql);
    }
  };
}

interface Steps {
  up(sql: QueryRunner): Promise<void>;
  down(sql: QueryRunner): Promise<void>;
}

function partitionMigration(schema: string, partitions: Partitions): MigrationClass {
  const { tables, functions } = partitionParts(schema);
  return migrationOf('PartitionSagaTables1763700000002', [...tables, ...functions], 'partitioning', schema, {
    up: (sql) => partitionSagaTables(sql, schema, partitions),
    down: (sql) => uniteSagaTables(sql, schema),
  });
}

const MIGRATION_OPTIONS = {
  partitions: optional(partitionPeriod),
} satisfies OptionTable<SagaMigrationsOptions>;

/** @throws SagaConfigurationError for a name that no schema of ours can have, or an invalid option */
function checked(call: string, schema: string, options: SagaMigrationsOptions): SagaMigrationsOptions {
  return withoutProblems(call, SagaConfigurationError, (report) => {
    const reader = new OptionReader(report);
    schemaName.read(schema, 'schema', reader);
    return reader.read(MIGRATION_OPTIONS, options);
  });
}
