import type { MigrationInterface, QueryRunner } from '../typeorm/typeorm-types.js';
import { SagaConfigurationError } from '../../../errors.js';
import { optional, OptionReader, type OptionTable } from '../../../definition/options/option-reader.js';
import { withoutProblems } from '../../../definition/options/read-options.js';
import { DEFAULT_SCHEMA } from './saga-entities.js';
import { schemaName } from '../connection/schema-name.js';
import { buildMark } from './build-mark.js';
import { createMessagingTables } from './create-messaging-tables.js';
import { createSagaTables } from './create-saga-tables.js';
import type { MigrationSql } from './migration-sql.js';
import { partitionPeriod, type Partitions, PartitionSagaTables } from './partition-saga-tables.js';

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
    migrationOf('CreateSagaTables1763700000000', createSagaTables, 'graph', schema),
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
  return [migrationOf('CreateMessagingTables1763700000001', createMessagingTables, 'outbox', schema)];
}

/**
 * A migration of a schema. Until the first release it executes what builds the SQL now; a release freezes that text, because
 * databases of all ages must get the same from a migration (CONTRIBUTING.md).
 * @param marked the table that has its mark: see buildMark
 */
export function migrationOf(
  name: string,
  sqlOf: (schema: string) => MigrationSql,
  marked: string,
  schema: string,
): MigrationClass {
  const mark = buildMark(name, sqlOf(DEFAULT_SCHEMA).up, marked);
  const { up, down } = sqlOf(schema);
  const run = async (queryRunner: Pick<QueryRunner, 'query'>, sql: readonly string[]): Promise<void> => {
    for (const statement of sql) await queryRunner.query(statement);
  };
  return class implements MigrationInterface {
    readonly name = name;
    readonly mark = mark.text;

    up(queryRunner: QueryRunner): Promise<void> {
      return run(queryRunner, [...up, mark.sql(schema)]);
    }

    down(queryRunner: QueryRunner): Promise<void> {
      return run(queryRunner, down);
    }
  };
}

function partitionMigration(schema: string, partitions: Partitions): MigrationClass {
  return class extends PartitionSagaTables {
    readonly name = 'PartitionSagaTables1763700000002';
    protected readonly schema = schema;
    protected readonly partitions = partitions;
  };
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
