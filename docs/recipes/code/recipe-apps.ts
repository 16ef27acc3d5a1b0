import { type INestApplication, type ModuleMetadata, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  SagaModule,
  type SagaModuleOptions,
  SagaOperations,
  SagaSchedules,
  SagaService,
} from 'nestjs-durable-saga';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';

export interface RecipeAppOptions {
  /** Modules, controllers and providers of the recipe. */
  readonly module: ModuleMetadata;
  readonly sagas?: SagaModuleOptions;
  /** Of TypeORM. */
  readonly entities?: NonNullable<Parameters<typeof TypeOrmModule.forRoot>[0]>['entities'];
}

/** A recipe's application, on a real database and behind a real port. */
export interface RecipeApp {
  readonly nest: INestApplication;
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  readonly schedules: SagaSchedules;
  readonly dataSource: DataSource;
  readonly url: string;
}

@Module({})
class RecipeModule {}

/** The database of a recipe's spec, and the applications on it, which end with each test. */
export class RecipeApps {
  private database!: TestDatabase;
  private readonly apps: RecipeApp[] = [];

  /** To be called in a `describe`. */
  static onOwnDatabase(): RecipeApps {
    const apps = new RecipeApps();
    beforeAll(async () => {
      apps.database = await createTestDatabase();
    });
    afterEach(() => apps.close());
    afterAll(() => apps.database.drop());
    return apps;
  }

  get url(): string {
    return this.database.url;
  }

  async start({ module, sagas, entities }: RecipeAppOptions): Promise<RecipeApp> {
    const { imports = [], ...rest } = module;
    const database = TypeOrmModule.forRoot({
      ...{ type: 'postgres', url: this.url, retryAttempts: 0 },
      ...{ entities, synchronize: entities !== undefined },
    });
    const nest = await NestFactory.create(
      { module: RecipeModule, imports: [database, SagaModule.forRoot(sagas), ...imports], ...rest },
      { logger: false, abortOnError: false, rawBody: true },
    );
    await nest.listen(0, '127.0.0.1');
    const app = {
      nest,
      sagas: nest.get(SagaService, { strict: false }),
      operations: nest.get(SagaOperations, { strict: false }),
      schedules: nest.get(SagaSchedules, { strict: false }),
      dataSource: nest.get(DataSource, { strict: false }),
      url: await nest.getUrl(),
    };
    this.apps.push(app);
    return app;
  }

  /** Ends all applications that run, as a deploy does. */
  async close(): Promise<void> {
    await Promise.all(this.apps.splice(0).map(({ nest }) => nest.close()));
  }

  async sql<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }
}
