import { DataSource, type EntitySchema } from 'typeorm';
import { SagaConfigurationError } from '../../../errors.js';
import { watchdogOf } from './statement-watchdog.js';
import { EngineClient } from './engine-client.js';
import { isolationOf, shareIsolation } from './isolation.js';
import { sagaMigrations, type SagaMigrationsOptions } from '../schema/saga-migrations.js';
import { sagaEntities } from '../schema/saga-entities.js';
import { LoggerWithoutValues, withoutValues } from './redact-message.js';
import type { PgClient, PgPool, ReleaseClient } from './pg-types.js';

/** The application's connection pool, which the saga tables share. */
export function poolOf(application: DataSource): PgPool {
  const pool = (application.driver as unknown as { master?: PgPool }).master;
  if (application.options.type !== 'postgres' || !pool) {
    throw new SagaConfigurationError(
      `SagaModule keeps sagas in PostgreSQL, but the application's DataSource is of type ` +
        `'${application.options.type}'${pool ? '' : ', and not connected'}. Give the name of a PostgreSQL DataSource as ` +
        `SagaModule.forRoot({ dataSource: '…' }).`,
    );
  }
  return pool;
}

/**
 * TypeORM listens for a connection's errors a moment after it was given it. An error that comes in between (the
 * server is being shut down) would find no listener, and end the process: the application's statements, and
 * transactional steps, which run on its DataSource, included.
 */
function surviveLostConnections(pool: PgPool): void {
  const surviving = new WeakSet<PgClient>();
  pool.on('acquire', (client) => {
    if (surviving.has(client)) return;
    surviving.add(client);
    client.on('error', () => undefined);
  });
}

/** What of a schema a DataSource knows. */
export interface SchemaParts {
  readonly entities: (schema: string) => EntitySchema[];
  readonly migrations: (schema: string) => ReturnType<typeof sagaMigrations>;
}

/** What a DataSource knows of sagas. */
export const sagaParts = ({ partitions }: SagaMigrationsOptions = {}): SchemaParts => ({
  entities: sagaEntities,
  migrations: (schema) => sagaMigrations(schema, { partitions }),
});

/**
 * A DataSource with the saga entities and migrations over the application's own connections. The application's
 * DataSource stays as it is: nothing of ours is synchronized, migrated or generated with its tables.
 */
export async function createSagaDataSource(
  application: DataSource,
  schema: string,
  { entities, migrations }: SchemaParts = sagaParts(),
): Promise<DataSource> {
  const pool = poolOf(application);
  surviveLostConnections(pool);
  const [watchdog, isolation] = [watchdogOf(pool), isolationOf(pool)];
  // TypeORM asks its `driver` option for a Pool; this one is the application's, and is not ours to close.
  class SharedPool {
    readonly options = pool.options;
    constructor() {
      shareIsolation(this, isolation);
    }
    connect(callback: (error: Error | undefined, client?: object, release?: ReleaseClient) => void): void {
      watchdog.connect((error, client, release) =>
        error ? callback(error) : callback(undefined, new EngineClient(client, watchdog, isolation), release),
      );
    }
    on(): this {
      return this;
    }
    end(callback: () => void): void {
      callback();
    }
  }
  const { logging, maxQueryExecutionTime } = application.options;
  const dataSource = new DataSource({
    type: 'postgres',
    schema,
    driver: { Pool: SharedPool },
    entities: entities(schema),
    migrations: migrations(schema),
    migrationsTableName: 'migration',
    installExtensions: false,
    logging,
    logger: new LoggerWithoutValues(application.logger),
    maxQueryExecutionTime,
  });
  tellNoValues(dataSource);
  return dataSource.initialize();
}

/** The errors of its statements carry nothing that the statements were given. */
function tellNoValues(dataSource: DataSource): void {
  const create = dataSource.createQueryRunner.bind(dataSource);
  dataSource.createQueryRunner = (mode) => {
    const runner = create(mode);
    const query = runner.query.bind(runner) as (...given: unknown[]) => Promise<unknown>;
    const told = (...given: unknown[]) =>
      query(...given).catch((error: unknown) => {
        throw withoutValues(error);
      });
    return Object.assign(runner, { query: told });
  };
}
