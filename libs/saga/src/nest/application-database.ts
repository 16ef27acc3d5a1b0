import type { ModuleRef } from '@nestjs/core';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { TypeOrmDatabase } from '../store/postgres/typeorm/typeorm-database.js';
import { applicationDataSource } from './application-data-source.js';
import type { DatabaseOptions, StandbyOptions } from './database-options.js';
import type { ShardsRead } from './shards/shard-options.js';

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

/** Where a shard is. */
export interface ShardPlace {
  readonly database: SagaDatabase;
  readonly schema: string;
}

/**
 * The places of shards, by their names.
 * @throws SagaConfigurationError when there is no DataSource of a name
 */
export function shardPlaces(
  moduleRef: ModuleRef,
  shards: NonNullable<ShardsRead['shards']>,
  module: string,
): ReadonlyMap<string, ShardPlace> {
  const places = [...shards].map(([name, { database: given, schema }]) => {
    const chosen = typeof given === 'string' ? { dataSource: given } : { database: given };
    return [name, { database: applicationDatabase(moduleRef, chosen, module), schema }] as const;
  });
  return new Map(places);
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
