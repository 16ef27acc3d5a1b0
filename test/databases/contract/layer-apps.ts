import { type INestApplicationContext, Module, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import {
  SagaModule,
  type SagaModuleOptions,
  SagaOperations,
  SagaSchedules,
  SagaService,
  SagaShards,
} from '../../../libs/saga/src/index.js';
import {
  Inbox,
  type MessageTransport,
  Outbox,
  SagaMessagingModule,
} from '../../../libs/messaging/src/index.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';
import type { Layer, LayerSubject } from '../layers/layer.js';

/** An application with sagas and messages over a layer. */
export interface LayerApp {
  readonly nest: INestApplicationContext;
  readonly layer: Layer;
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  readonly schedules: SagaSchedules;
  readonly shards: SagaShards;
  readonly outbox: Outbox;
  readonly inbox: Inbox;
  close(): Promise<void>;
}

export interface LayerAppOptions {
  readonly sagas?: Provider[];
  readonly options?: SagaModuleOptions;
  readonly transport?: MessageTransport;
  /** The maximum of the layer's pool. */
  readonly connections?: number;
  /** The database, through something. Default: the database of the tests. */
  readonly url?: string;
}

@Module({})
class LayerModule {}

/** The database of a spec file, and the applications on it. */
export class LayerApps {
  private database!: TestDatabase;
  private client!: pg.Client;
  private apps: LayerApp[] = [];

  /** To be called in a `describe`. */
  static of(subject: LayerSubject): LayerApps {
    const apps = new LayerApps(subject);
    beforeAll(() => apps.open());
    afterEach(() => apps.clear());
    afterAll(() => apps.drop());
    return apps;
  }

  constructor(readonly subject: LayerSubject) {}

  get url(): string {
    return this.database.url;
  }

  async start({
    sagas = [],
    options,
    transport,
    connections,
    url = this.url,
  }: LayerAppOptions = {}): Promise<LayerApp> {
    const layer = await this.subject.open(url, connections);
    const { database } = layer;
    const messaging = SagaMessagingModule.forRoot({
      database,
      ...(transport ? { transport } : { relay: false }),
    });
    const nest = await NestFactory.createApplicationContext(
      {
        module: LayerModule,
        imports: [...(layer.imports ?? []), SagaModule.forRoot({ database, ...options }), messaging],
        providers: sagas,
      },
      { logger: process.env.SAGA_LOG ? undefined : false, abortOnError: false },
    );
    const app: LayerApp = {
      ...{ nest, layer },
      sagas: nest.get(SagaService, { strict: false }),
      operations: nest.get(SagaOperations, { strict: false }),
      schedules: nest.get(SagaSchedules, { strict: false }),
      shards: nest.get(SagaShards, { strict: false }),
      outbox: nest.get(Outbox, { strict: false }),
      inbox: nest.get(Inbox, { strict: false }),
      close: async () => {
        this.apps = this.apps.filter((other) => other !== app);
        await nest.close();
        await layer.close();
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

  /** The effects that are committed. */
  async effects(): Promise<string[]> {
    return (await this.sql<{ what: string }>('SELECT what FROM effect ORDER BY what')).map(
      ({ what }) => what,
    );
  }

  private async open(): Promise<void> {
    this.database = await createTestDatabase();
    this.client = new pg.Client({ connectionString: this.url });
    await this.client.connect();
    await this.sql('CREATE TABLE effect (what text)');
  }

  private async clear(): Promise<void> {
    await Promise.all([...this.apps].map((app) => app.close()));
    await this.sql('TRUNCATE effect');
  }

  private async drop(): Promise<void> {
    await this.client.end();
    await this.database.drop();
  }
}
