/** Migrations, entities and the connection to a database: `nestjs-durable-saga/database`. */
export {
  messagingMigrations,
  sagaMigrations,
  type SagaMigrationsOptions,
} from './store/postgres/schema/saga-migrations.js';
export type {
  DatabaseSession,
  JoinedTransaction,
  SagaDatabase,
  StatementLogger,
  TransactionOpener,
} from './store/postgres/connection/saga-database.js';
export type { PgClient, PgPool, PgStatement } from './store/postgres/connection/pg-types.js';
export type { Sql } from './store/postgres/connection/sql.js';
export type { Partitions } from './store/postgres/schema/partition-saga-tables.js';
export { sagaEntities, type SagaEntitiesOptions } from './store/postgres/schema/saga-entities.js';
export { SagaInstance, SagaStep } from './store/postgres/schema/saga-row.js';
export type { ShardDatabase, ShardedStart } from './nest/shards/shard-options.js';
