import { DiscoveryService, type ModuleRef } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { SagaConfigurationError } from '../errors.js';
import type { JoinedTransaction, SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { typeOrm } from '../store/postgres/typeorm/typeorm-package.js';
import { TypeOrmDatabase } from '../store/postgres/typeorm/typeorm-database.js';
import type { DatabaseOptions, StandbyOptions } from './database-options.js';
import type { ShardsRead } from './shards/shard-options.js';

type TypeOrm = ReturnType<typeof typeOrm>;

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
  return new Map(
    [...shards].map(([name, { database: given, schema }]) => {
      const database = databaseGiven(moduleRef, given, module);
      return [name, { database, schema }];
    }),
  );
}

/** Joins a transaction by the first layer that knows it: shards may have different ones. */
export function joinOneOf(
  places: readonly Pick<ShardPlace, 'database'>[],
  transaction: unknown,
): JoinedTransaction {
  let refusal: unknown;
  for (const { database } of places) {
    try {
      return database.join(transaction);
    } catch (error) {
      refusal ??= error;
    }
  }
  throw refusal;
}

/**
 * The standby that the options choose: a database of an entry, or the name of a TypeORM DataSource of the application.
 * @throws SagaConfigurationError when there is none of this name
 */
export function standbyDatabase(
  moduleRef: ModuleRef,
  { readFrom }: StandbyOptions,
): SagaDatabase | undefined {
  return readFrom === undefined ? undefined : databaseGiven(moduleRef, readFrom, 'SagaModule');
}

/** A database of an entry, or that of the DataSource of this name. */
function databaseGiven(moduleRef: ModuleRef, given: SagaDatabase | string, module: string): SagaDatabase {
  const options = typeof given === 'string' ? { dataSource: given } : { database: given };
  return applicationDatabase(moduleRef, options, module);
}

/**
 * The application's DataSource of this name, or its default one.
 * @param module who asks
 * @throws SagaConfigurationError when there is none, naming those that there are, or when it is not connected
 */
function applicationDataSource(moduleRef: ModuleRef, name: string | undefined, module: string): DataSource {
  const typeorm = typeOrm(module);
  const dataSource = found<DataSource>(moduleRef, tokenOf(name, typeorm));
  if (dataSource?.isInitialized) return dataSource;
  const which = `TypeORM DataSource${name === undefined ? '' : ` named '${name}'`}`;
  if (dataSource) {
    throw new SagaConfigurationError(
      `${module} found the ${which}, but it is not connected. Remove manualInitialization: true, or initialize it before the ` +
        `application starts.`,
    );
  }
  if (hasForeignDataSource(moduleRef, typeorm)) {
    throw new SagaConfigurationError(
      `${module} found the ${which} only of another copy of the package typeorm. npm ls typeorm shows both copies. ` +
        `Install the version that @nestjs/typeorm uses, so that there is one copy.`,
    );
  }
  throw new SagaConfigurationError(
    `${module} found no ${which}. ${fixOf(name, module, namesOfOthers(moduleRef, typeorm))}`,
  );
}

function fixOf(name: string | undefined, module: string, others: readonly string[]): string {
  if (others.length === 0) {
    return (
      `Import TypeOrmModule.forRoot({ type: 'postgres', url: … }) in the application's root module` +
      `${name === undefined ? '' : `, with name: '${name}'`}.`
    );
  }
  const there = `There is ${others.map((one) => (one === '' ? 'the default one' : `'${one}'`)).join(', ')}`;
  const [first] = others;
  return first === ''
    ? `${there}: remove dataSource from ${module}.forRoot(), or give the name of another DataSource.`
    : `${there}: give ${module}.forRoot({ dataSource: '${first}' }).`;
}

/** As `getDataSourceToken()` of @nestjs/typeorm, which is not imported: only the application needs it. */
function tokenOf(name: string | undefined, { DataSource }: TypeOrm): Parameters<ModuleRef['get']>[0] {
  return name === undefined || name === 'default' ? DataSource : `${name}DataSource`;
}

/** Two copies of typeorm have two classes DataSource, and tokens are classes. */
function hasForeignDataSource(moduleRef: ModuleRef, { DataSource }: TypeOrm): boolean {
  const providers = found<DiscoveryService>(moduleRef, DiscoveryService)?.getProviders() ?? [];
  return providers.some(({ token, instance }) => {
    const isOne = typeof token === 'function' && token.name === 'DataSource' && token !== DataSource;
    return isOne && typeof instance === 'object' && instance !== null && 'isInitialized' in instance;
  });
}

/** The names of the application's DataSources; of the default one, nothing. */
function namesOfOthers(moduleRef: ModuleRef, { DataSource }: TypeOrm): string[] {
  const providers = found<DiscoveryService>(moduleRef, DiscoveryService)?.getProviders() ?? [];
  const tokens = providers
    .filter(({ instance }) => instance instanceof DataSource)
    .map(({ token }) => (typeof token === 'string' ? token.replace(/DataSource$/, '') : ''));
  return [...new Set(tokens)];
}

function found<T>(moduleRef: ModuleRef, token: Parameters<ModuleRef['get']>[0]): T | undefined {
  try {
    return moduleRef.get<unknown, T>(token, { strict: false });
  } catch {
    return undefined;
  }
}
