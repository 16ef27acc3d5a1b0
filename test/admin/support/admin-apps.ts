import type { AddressInfo } from 'node:net';
import { type INestApplication, Module, type ModuleMetadata, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  SagaAdminModule,
  type SagaAdminModuleOptions,
  type SagaAdminRoutes,
} from '../../../libs/admin/src/index.js';
import {
  SagaModule,
  type SagaModuleOptions,
  SagaOperations,
  SagaSchedules,
  SagaService,
  SagaShards,
} from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';
import { AdminClient } from './admin-client.js';

export type HttpPlatform = 'express' | 'fastify';

/**
 * What the applications of all specs are served by, unless one says otherwise: HTTP_PLATFORM=fastify runs
 * them on that.
 */
const PLATFORM: HttpPlatform = process.env.HTTP_PLATFORM === 'fastify' ? 'fastify' : 'express';

export interface AdminAppOptions {
  readonly sagas?: Provider[];
  readonly providers?: Provider[];
  readonly imports?: ModuleMetadata['imports'];
  /** Options of the application's TypeORM DataSource. */
  readonly dataSource?: object;
  /** Options of SagaModule. */
  readonly options?: SagaModuleOptions;
  readonly admin?: Partial<SagaAdminModuleOptions & SagaAdminRoutes>;
  /** Before it listens. */
  readonly prepare?: (nest: INestApplication) => void;
}

/** An application with sagas and the admin, as a user serves it. */
export interface AdminApp {
  readonly nest: INestApplication;
  readonly sagas: SagaService;
  readonly operations: SagaOperations;
  readonly schedules: SagaSchedules;
  readonly shards: SagaShards;
  /** Its origin. */
  readonly url: string;
  readonly client: AdminClient;
  close(): Promise<void>;
}

@Module({})
class OperatedModule {}

/** The database of a spec file, and the applications on it. Each test begins without sagas. */
export class AdminApps {
  private apps: AdminApp[] = [];
  private readonly database: TestApps;

  /** To be called at the top of a file. */
  static onOwnDatabase(platform: HttpPlatform = PLATFORM): AdminApps {
    return new AdminApps(platform);
  }

  private constructor(private readonly platform: HttpPlatform) {
    // Closed first: what they hold is to be emptied then.
    afterEach(() => Promise.all([...this.apps].map((app) => app.close())));
    this.database = TestApps.onOwnDatabase();
  }

  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]> {
    return this.database.sql<Row>(text, values);
  }

  async start(options: AdminAppOptions = {}): Promise<AdminApp> {
    const { sagas = [], providers = [], imports = [], admin } = options;
    const module = {
      module: OperatedModule,
      imports: [
        TypeOrmModule.forRoot({
          type: 'postgres',
          url: this.database.url,
          retryAttempts: 0,
          ...options.dataSource,
        }),
        SagaModule.forRoot(options.options),
        SagaAdminModule.register({ guards: [], ...admin }),
        ...imports,
      ],
      providers: [...sagas, ...providers],
    };
    // Browsers open connections ahead of requests, and Node's server waits for those that have sent nothing.
    const forceCloseConnections = true;
    const quiet = {
      logger: process.env.SAGA_LOG ? undefined : (false as const),
      ...{ abortOnError: false, forceCloseConnections },
    };
    const nest: INestApplication = await (this.platform === 'fastify'
      ? NestFactory.create(
          module,
          // As docs/operating.md advises: Express does so by itself.
          new FastifyAdapter({ routerOptions: { ignoreTrailingSlash: true }, forceCloseConnections }),
          quiet,
        )
      : NestFactory.create(module, quiet));
    options.prepare?.(nest);
    await nest.listen(0, '127.0.0.1');
    const { port } = (nest.getHttpServer() as { address(): AddressInfo }).address();
    const url = `http://127.0.0.1:${port}`;
    const app: AdminApp = {
      nest,
      url,
      sagas: nest.get(SagaService, { strict: false }),
      operations: nest.get(SagaOperations, { strict: false }),
      schedules: nest.get(SagaSchedules, { strict: false }),
      shards: nest.get(SagaShards, { strict: false }),
      client: new AdminClient(`${url}/${admin?.path ?? 'sagas'}`),
      close: async () => {
        this.apps = this.apps.filter((other) => other !== app);
        await nest.close();
      },
    };
    this.apps.push(app);
    return app;
  }
}
