import type { ModuleRef } from '@nestjs/core';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { TypeOrmDatabase } from '../store/postgres/typeorm/typeorm-database.js';
import { applicationDataSource } from './application-data-source.js';
import type { DatabaseOptions } from './database-options.js';

/**
 * The database that the options choose: `database`, or else a TypeORM DataSource of the application.
 * @param module who asks
 * @throws SagaConfigurationError when there is none
 */
export function applicationDatabase(
  moduleRef: ModuleRef,
  { database, dataSource }: DatabaseOptions,
  module: string,
): SagaDatabase {
  return database ?? new TypeOrmDatabase(applicationDataSource(moduleRef, dataSource, module));
}
