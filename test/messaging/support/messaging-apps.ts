import { type INestApplication, Module, type ModuleMetadata, type Provider, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { DataSource } from 'typeorm';
import {
  Inbox,
  Outbox,
  SagaMessagingModule,
  type SagaMessagingModuleOptions,
} from '../../../libs/messaging/src/index.js';
import { SagaPoller } from '../../../libs/saga/src/nest/maintenance/saga.poller.js';
import { MessagingRuntime } from '../../../libs/messaging/src/messaging.runtime.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

export interface MessagingAppOptions {
  /** Options of SagaMessagingModule. */
  readonly messaging: SagaMessagingModuleOptions;
  readonly controllers?: Type[];
  readonly providers?: Provider[];
  readonly imports?: ModuleMetadata['imports'];
  /** The microservice that the application is, beside. */
  readonly microservice?: MicroserviceOptions;
}

/** A participant: a Nest application with an outbox and an inbox, and no sagas. */
export interface MessagingApp {
  readonly nest: INestApplication;
  readonly outbox: Outbox;
  readonly inbox: Inbox;
  readonly dataSource: DataSource;
  readonly runtime: MessagingRuntime;
  /** From now on it learns of things by announcements and its own timers, or never. */
  stopPolling(): void;
  close(): Promise<void>;
}

@Module({})
class ParticipantModule {}

/** The database of a spec file, and the applications on it. Each test begins with nothing in it. */
export class MessagingApps {
  private database!: TestDatabase;
  private client!: pg.Client;
  private apps: MessagingApp[] = [];

  /** To be called in a `describe`, or at the top of a file. */
  static onOwnDatabase(): MessagingApps {
    const apps = new MessagingApps();
    beforeAll(() => apps.open());
    afterEach(() => apps.clear());
    afterAll(() => apps.drop());
    return apps;
  }

  get url(): string {
    return this.database.url;
  }

  async start({ messaging, microservice, ...parts }: MessagingAppOptions): Promise<MessagingApp> {
    const nest = await NestFactory.create(
      {
        module: ParticipantModule,
        imports: [
          TypeOrmModule.forRoot({ type: 'postgres', url: this.url, retryAttempts: 0 }),
          SagaMessagingModule.forRoot(messaging),
          ...(parts.imports ?? []),
        ],
        controllers: parts.controllers ?? [],
        providers: parts.providers ?? [],
      },
      { logger: process.env.SAGA_LOG ? undefined : false, abortOnError: false },
    );
    if (microservice) nest.connectMicroservice(microservice);
    await nest.init();
    await nest.startAllMicroservices();
    const runtime = nest.get(MessagingRuntime, { strict: false });
    const app: MessagingApp = {
      nest,
      outbox: nest.get(Outbox),
      inbox: nest.get(Inbox),
      dataSource: nest.get(DataSource),
      runtime,
      stopPolling: () => nest.get(SagaPoller, { strict: false }).stop('saga:relay'),
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

  async outboxRows(): Promise<{ payload: unknown; attempts: number; held: boolean; dead: boolean }[]> {
    return this.sql(
      'SELECT payload, attempts, held, dead_at IS NOT NULL AS dead FROM saga.outbox ORDER BY seq',
    );
  }

  private async open(): Promise<void> {
    this.database = await createTestDatabase();
    this.client = new pg.Client({ connectionString: this.url });
    await this.client.connect();
  }

  private async clear(): Promise<void> {
    await Promise.all([...this.apps].map((app) => app.close()));
    const [there] = await this.sql<{ there: boolean }>(
      `SELECT to_regclass('saga.outbox') IS NOT NULL AS there`,
    );
    if (there?.there)
      await this.sql(
        `TRUNCATE saga.outbox, saga.inbox; UPDATE saga.outbox_lane SET leased_by = NULL, leased_until = '-infinity'`,
      );
  }

  private async drop(): Promise<void> {
    await this.client.end();
    await this.database.drop();
  }
}
