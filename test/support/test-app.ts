import { type INestApplicationContext, type ModuleMetadata, Module, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { DataSource } from 'typeorm';
import {
  SagaModule,
  type SagaModuleOptions,
  SagaOperations,
  SagaSchedules,
  SagaService,
  SagaShards,
} from '../../libs/saga/src/index.js';
import { SagaPoller } from '../../libs/saga/src/nest/maintenance/saga.poller.js';
import { TABLES } from '../../libs/saga/src/store/postgres/schema/tables/table-facts.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

export interface TestAppOptions {
  readonly sagas?: Provider[];
  readonly providers?: Provider[];
  readonly imports?: ModuleMetadata['imports'];
  /** Options of SagaModule. */
  readonly options?: SagaModuleOptions;
  /** Options of the application's TypeORM DataSource. `url` is the database of the tests. */
  readonly dataSource?: object;
  /** Leaves out what SagaModule needs, or the module itself. */
  readonly without?: 'database' | 'sagas';
}

/** A Nest application with sagas, as users write it. */
export interface TestApp {
  readonly nest: INestApplicationContext;
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  readonly schedules: SagaSchedules;
  readonly shards: SagaShards;
  readonly dataSource: DataSource;
  /** From now on it learns of things by announcements and its own timers, or never. */
  stopPolling(): void;
  close(): Promise<void>;
}

@Module({})
class TestModule {}

/** Tables with rows that a schema always has, or that describe it. */
const KEPT = ['shard', 'outbox_lane', 'relay', 'partitioning'];
const CLEARED = Object.keys(TABLES).filter((table) => !KEPT.includes(table));
/**
 * The tables of all schemas with sagas. Of a few rows, DELETE is much faster than TRUNCATE, which makes new
 * files.
 */
const CLEARED_TABLES = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name, pg_relation_size(c.oid) > 1000000 AS large
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = ANY ($1) AND c.relkind IN ('r', 'p')
    AND EXISTS (SELECT FROM pg_class i WHERE i.relnamespace = n.oid AND i.relname = 'instance')`;

/** The database of a spec file, and the applications on it. Each test begins without sagas. */
export class TestApps {
  private database!: TestDatabase;
  private client!: pg.Client;
  private apps: TestApp[] = [];

  /** To be called in a `describe`, or at the top of a file. */
  static onOwnDatabase(): TestApps {
    const apps = new TestApps();
    beforeAll(() => apps.open());
    afterEach(() => apps.clear());
    afterAll(() => apps.drop());
    return apps;
  }

  get url(): string {
    return this.database.url;
  }

  async start(options: TestAppOptions = {}): Promise<TestApp> {
    const nest = await NestFactory.createApplicationContext(this.moduleOf(options), {
      logger: process.env.SAGA_LOG ? undefined : false,
      abortOnError: false,
    });
    const app: TestApp = {
      nest,
      sagas: nest.get(SagaService, { strict: false }),
      operations: nest.get(SagaOperations, { strict: false }),
      schedules: nest.get(SagaSchedules, { strict: false }),
      shards: nest.get(SagaShards, { strict: false }),
      dataSource: nest.get(DataSource, { strict: false }),
      stopPolling: () => nest.get(SagaPoller, { strict: false }).stop(),
      close: async () => {
        this.apps = this.apps.filter((other) => other !== app);
        await nest.close();
      },
    };
    this.apps.push(app);
    return app;
  }

  /** On a connection beside those of the applications. */
  async sql<Row extends object = Record<string, unknown>>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return (await this.client.query<Row>(text, values)).rows;
  }

  private moduleOf({
    sagas = [],
    providers = [],
    imports = [],
    options,
    dataSource,
    without,
  }: TestAppOptions) {
    const database = TypeOrmModule.forRoot({
      type: 'postgres',
      url: this.url,
      retryAttempts: 0,
      ...dataSource,
    });
    return {
      module: TestModule,
      imports: [
        ...(without === 'database' ? [] : [database]),
        ...(without === 'sagas' ? [] : [SagaModule.forRoot(options)]),
        ...imports,
      ],
      providers: [...sagas, ...providers],
    };
  }

  private async open(): Promise<void> {
    this.database = await createTestDatabase();
    this.client = new pg.Client({ connectionString: this.url });
    await this.client.connect();
  }

  private async clear(): Promise<void> {
    await Promise.all([...this.apps].map((app) => app.close()));
    const tables = await this.sql<{ name: string; large: boolean }>(CLEARED_TABLES, [CLEARED]);
    const large = tables.filter((table) => table.large).map(({ name }) => name);
    const small = tables.filter((table) => !table.large).map(({ name }) => name);
    const statements = small.map((name) => `DELETE FROM ${name}`);
    if (large.length > 0) statements.push(`TRUNCATE ${large.join(', ')}`);
    if (statements.length > 0) await this.sql(statements.join('; '));
  }

  private async drop(): Promise<void> {
    await this.client.end();
    await this.database.drop();
  }
}
