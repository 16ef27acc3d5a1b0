import { DataSource } from 'typeorm';
import { SagaConfigurationError } from '../../errors/saga-errors.js';
import { sagaMigrations } from './migrations/saga-migrations.js';
import { sagaEntities } from './saga-entities.js';

/** The part of pg's Pool that is used here. */
export interface PgPool {
  readonly options: object;
  readonly Client: new (options: object) => PgClient;
  connect(callback: (...args: unknown[]) => void): void;
  query<Row>(statement: PreparedStatement): Promise<{ rows: Row[] }>;
  on(event: 'acquire', listener: (client: PgClient) => void): unknown;
}

export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

export interface PgClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  end(): Promise<void>;
}

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

/**
 * A DataSource with the saga entities and migrations over the application's own connections. The application's
 * DataSource stays as it is: nothing of ours is synchronized, migrated or generated with its tables.
 */
export async function createSagaDataSource(application: DataSource, schema: string): Promise<DataSource> {
  const pool = poolOf(application);
  surviveLostConnections(pool);
  // TypeORM asks its `driver` option for a Pool; this one is the application's, and is not ours to close.
  class SharedPool {
    connect(callback: (...args: unknown[]) => void): void {
      pool.connect(callback);
    }
    query<Row>(statement: PreparedStatement): Promise<{ rows: Row[] }> {
      return pool.query(statement);
    }
    on(): this {
      return this;
    }
    end(callback: () => void): void {
      callback();
    }
  }
  const { logging, logger, maxQueryExecutionTime } = application.options;
  const dataSource = new DataSource({
    type: 'postgres',
    schema,
    driver: { Pool: SharedPool },
    entities: sagaEntities(schema),
    migrations: sagaMigrations(schema),
    migrationsTableName: 'migration',
    installExtensions: false,
    logging,
    logger,
    maxQueryExecutionTime,
  });
  return dataSource.initialize();
}
