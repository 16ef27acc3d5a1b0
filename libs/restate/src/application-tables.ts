import {
  DEFAULT_SCHEMA,
  createdParts,
  instancesOf,
  migrationOf,
  type Needs,
} from 'nestjs-durable-saga/internal/backend';

/** What commits together with the application's data, until Restate has it. */
const tablesIn = (schema: string): string[] => [
  // The last transaction of a step of each saga, and the epoch below which none commits any more.
  `CREATE TABLE IF NOT EXISTS "${schema}".step_commit (
    saga_id uuid PRIMARY KEY,
    epoch int NOT NULL,
    number int NOT NULL DEFAULT 0,
    checkpoint text
  ) WITH (fillfactor = 50)`,
  // Starts and signals of transactions, in order.
  `CREATE TABLE IF NOT EXISTS "${schema}".committed_call (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    saga_id uuid NOT NULL,
    message_id text NOT NULL,
    correlation text UNIQUE,
    call text NOT NULL,
    UNIQUE (saga_id, message_id)
  )`,
];

/**
 * The migrations for the tables that `restateEngine` has in the application's database, for applications that run their own:
 * put them into the DataSource's `migrations` and give `SagaModule.forRoot({ migrate: false })`.
 */
export function restateMigrations(schema: string = DEFAULT_SCHEMA): ReturnType<typeof migrationOf>[] {
  return [migrationOf('CreateRestateTables1763700000003', tablesIn(schema), 'step_commit', schema)];
}

export const NEEDS: Needs = {
  module: 'SagaModule',
  migrations: 'restateMigrations',
  ...createdParts(tablesIn(DEFAULT_SCHEMA)),
  migrationsOf: (schema) => instancesOf(restateMigrations(schema)),
};
