import { Module, type ModuleMetadata, type Provider, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import pg from 'pg';
import { pgDatabase, type SagaDatabase } from '../../libs/saga/src/databases/pg/index.js';
import {
  SagaModule,
  type SagaModuleOptions,
  SagaOperations,
  SagaSchedules,
  SagaService,
  SagaShards,
} from '../../libs/saga/src/index.js';
import { TcpProxy } from '../chaos/rig/src/tcp-proxy.js';
import { until } from './gate.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

export interface ShardApp {
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  readonly schedules: SagaSchedules;
  readonly shards: SagaShards;
  /** The application's own, by the name of the shard. */
  readonly pools: Readonly<Record<string, pg.Pool>>;
  /** Returns a provider. */
  get<T>(type: Type<T>): T;
  close(): Promise<void>;
}

export interface ShardAppOptions {
  readonly sagas: Provider[];
  /** The names of its shards. Default: all. */
  readonly shards?: readonly string[];
  readonly options?: SagaModuleOptions;
  readonly imports?: ModuleMetadata['imports'];
  readonly controllers?: Type[];
  /** The microservice that the application is. Default: it is none. */
  readonly microservice?: MicroserviceOptions;
}

@Module({})
class TestModule {}

/** A database with a proxy before it, behind which its server can be lost. */
interface ShardDatabase {
  readonly database: TestDatabase;
  readonly proxy: TcpProxy;
  readonly client: pg.Client;
}

/** Databases of a spec file that are shards, and the applications over them. */
export class ShardApps {
  private readonly databases = new Map<string, ShardDatabase>();
  private apps: ShardApp[] = [];
  private readonly poolsOfSpec: pg.Pool[] = [];

  /** To be called at the top of a file, or in a `describe`: each has its own databases. */
  static over(...names: string[]): ShardApps {
    const apps = new ShardApps();
    beforeAll(async () => {
      for (const name of names) await apps.add(name);
    });
    afterEach(() => apps.closeAll());
    afterAll(() => apps.drop());
    return apps;
  }

  /** Adds an empty database. */
  async add(name: string): Promise<void> {
    const database = await createTestDatabase();
    const { hostname, port } = new URL(database.url);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const proxy = await TcpProxy.before({ host: hostname, port: Number(port) });
    this.databases.set(name, { database, client, proxy });
  }

  /** The server of a shard refuses all connections. */
  lose(name: string): void {
    this.databases.get(name)!.proxy.refuse();
  }

  find(name: string): void {
    const { database, proxy } = this.databases.get(name)!;
    proxy.pointTo(Number(new URL(database.url).port));
  }

  /** Over a pool of its own, which ends with the spec. */
  database(name: string): SagaDatabase {
    const pool = this.pool(name);
    this.poolsOfSpec.push(pool);
    return pgDatabase(pool);
  }

  /** On the database of a shard, beside the applications and the proxy. */
  async sql<Row extends object>(name: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.databases.get(name)!.client.query<Row>(text, values)).rows;
  }

  /** The ids of the sagas on a shard. */
  async idsOn(name: string): Promise<string[]> {
    const rows = await this.sql<{ id: string }>(name, 'SELECT id FROM saga.instance ORDER BY id');
    return rows.map(({ id }) => id);
  }

  /** Resolves when no worker has a saga of a shard, and none is due. */
  async idle(name: string): Promise<void> {
    const busy = 'SELECT FROM saga.instance WHERE locked_by IS NOT NULL OR rank_at IS NOT NULL LIMIT 1';
    await until(async () => (await this.sql(name, busy)).length === 0);
  }

  /** Through the proxy. */
  url(name: string): string {
    const { database, proxy } = this.databases.get(name)!;
    const url = new URL(database.url);
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    return url.href;
  }

  private pool(name: string): pg.Pool {
    const pool = new pg.Pool({ connectionString: this.url(name) });
    pool.on('error', () => undefined);
    return pool;
  }

  async start({ sagas, shards, options, ...parts }: ShardAppOptions): Promise<ShardApp> {
    const names = shards ?? [...this.databases.keys()];
    const pools = Object.fromEntries(names.map((name) => [name, this.pool(name)]));
    const end = () => Promise.all(Object.values(pools).map((pool) => pool.end()));
    const given: SagaModuleOptions = {
      worker: { pollInterval: '50ms', lease: '5s' },
      shards: Object.fromEntries(names.map((name) => [name, pgDatabase(pools[name]!)])),
      ...options,
    };
    const module = {
      module: TestModule,
      imports: [SagaModule.forRoot(given), ...(parts.imports ?? [])],
      providers: sagas,
      controllers: parts.controllers ?? [],
    };
    const settings = {
      logger: process.env.SAGA_LOG ? undefined : (false as const),
      abortOnError: false,
    };
    let nest;
    try {
      if (parts.microservice) {
        nest = await NestFactory.createMicroservice(module, { ...parts.microservice, ...settings });
        await nest.listen();
      } else nest = await NestFactory.createApplicationContext(module, settings);
    } catch (error) {
      await end();
      throw error;
    }
    const app: ShardApp = {
      sagas: nest.get(SagaService, { strict: false }),
      operations: nest.get(SagaOperations, { strict: false }),
      schedules: nest.get(SagaSchedules, { strict: false }),
      shards: nest.get(SagaShards, { strict: false }),
      pools,
      get: (type) => nest.get(type, { strict: false }),
      close: async () => {
        this.apps = this.apps.filter((other) => other !== app);
        await nest.close();
        await end();
      },
    };
    this.apps.push(app);
    return app;
  }

  private async closeAll(): Promise<void> {
    for (const app of [...this.apps]) await app.close();
  }

  private async drop(): Promise<void> {
    await Promise.all(this.poolsOfSpec.map((pool) => pool.end()));
    for (const { database, client, proxy } of this.databases.values()) {
      await client.end();
      await proxy.close();
      await database.drop();
    }
  }
}
