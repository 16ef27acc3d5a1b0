import type { ModuleRef } from '@nestjs/core';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { TypeOrmDatabase } from '../store/postgres/typeorm/typeorm-database.js';
import { applicationDataSource } from './application-data-source.js';
import type { DatabaseOptions, StandbyOptions } from './database-options.js';

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

/**
 * The standby that the options choose: a database of an entry, or the name of a TypeORM DataSource of the application.
 * @throws SagaConfigurationError when there is none of this name
 */
export function standbyDatabase(
  moduleRef: ModuleRef,
  { readFrom }: StandbyOptions,
): SagaDatabase | undefined {
  if (typeof readFrom !== 'string') return readFrom;
  return new TypeOrmDatabase(applicationDataSource(moduleRef, readFrom, 'SagaModule'));
}
