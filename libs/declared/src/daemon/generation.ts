import 'reflect-metadata';
import { type INestApplication, type LoggerService, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type Duration, SagaModule } from 'nestjs-durable-saga';
import type { SagaDatabase } from 'nestjs-durable-saga/database';
import { SagaAdminModule } from 'nestjs-durable-saga-admin';
import { PendingCount, withoutUndefined } from 'nestjs-durable-saga/internal';
import { SagaRuntime } from 'nestjs-durable-saga/internal/runtime';
import type { Callers } from './access/callers.js';
import type { Answer } from './http/front.js';
import { openApiOf } from './http/open-api.js';
import type { ServedSagas } from './sagas/next-sagas.js';

/** The base path of the dashboard and the REST API. */
export const ADMIN_PATH = 'sagas';

/** Options of a daemon that its applications use. */
export interface RunOptions {
  /** The schema of the sagas' tables. Default: `'saga'`. */
  readonly schema?: string;
  /** The maximum number of sagas that run at once. Default: adapted to the load. */
  readonly concurrency?: number;
  /** After this time, another daemon takes over the sagas of one that was killed. Default: `'30s'`. */
  readonly lease?: Duration;
  /** How long steps may take to end when the daemon stops. Default: `'10s'`. */
  readonly shutdownTimeout?: Duration;
  /** How long ended sagas are kept, unless their files say it. Default: for ever. */
  readonly retention?: Duration;
}

/** What all generations of a daemon share. */
export interface SharedParts {
  readonly database: SagaDatabase;
  /** A standby of the database. */
  readonly readFrom: SagaDatabase | undefined;
  readonly callers: Callers;
  readonly logger: LoggerService;
  readonly options: RunOptions;
  /** Modules that measure. */
  readonly imports: NonNullable<ModuleMetadata['imports']>;
}

/** Bytes of a request: an input of 1 MiB, and what is beside it. */
const MAX_REQUEST = 2 ** 20 + 64 * 2 ** 10;

/**
 * A Nest application that runs a set of sagas and answers their requests. It does not change. Other files are another
 * generation, which takes over while this one retires.
 */
export class Generation {
  private readonly requests = new PendingCount();

  private constructor(
    readonly sagas: ServedSagas,
    /** The OpenAPI document. Undefined: `@nestjs/swagger` is not installed. */
    readonly openApi: object | undefined,
    private readonly app: INestApplication,
    private readonly respond: Answer,
  ) {}

  /**
   * Starts an application with these sagas. Its worker runs once the promise resolves.
   * @throws SagaConfigurationError, SagaDefinitionError, SagaDriftError
   */
  static async start(sagas: ServedSagas, parts: SharedParts): Promise<Generation> {
    const { logger } = parts;
    const adapter = new ExpressAdapter();
    adapter.useBodyParser('json', false, { limit: MAX_REQUEST });
    const app = await NestFactory.create(moduleOf(sagas, parts), adapter, {
      ...{ logger, abortOnError: false },
    });
    try {
      const openApi = await openApiOf(app, SagaAdminModule);
      await app.init();
      return new Generation(sagas, openApi, app, adapter.getInstance<Answer>());
    } catch (error) {
      await app.close().catch(() => undefined);
      throw error;
    }
  }

  answer: Answer = (request, response) => {
    this.requests.add();
    response.once('close', () => this.requests.done());
    this.respond(request, response);
  };

  /** Lets its attempts and its requests end in their own time, while the next generation takes over, and closes. */
  async retire(): Promise<void> {
    await this.app.get(SagaRuntime, { strict: false }).retire();
    await this.requests.none();
    await this.close();
  }

  /** Drains within `shutdownTimeout`, and closes. */
  async close(): Promise<void> {
    await this.app.close();
  }
}

function moduleOf({ current, retired }: ServedSagas, parts: SharedParts) {
  const { database, readFrom, callers, options, imports } = parts;
  const { schema, concurrency, lease, shutdownTimeout, retention } = options;
  const names = new Set(current.map(({ name }) => name));
  const removed = new Set(retired.map(({ name }) => name).filter((name) => !names.has(name)));
  const module = class SagaDaemonModule {};
  Module({
    imports: [
      SagaModule.forRoot({
        ...{ database, readFrom, schema, retention },
        worker: withoutUndefined({ concurrency, lease, shutdownTimeout }),
      }),
      SagaAdminModule.register({
        path: ADMIN_PATH,
        guards: [callers.guard],
        ...callers.adminOptions(removed),
      }),
      ...imports,
    ],
    providers: [...current, ...retired].map(({ type }) => type),
  })(module);
  return module;
}
