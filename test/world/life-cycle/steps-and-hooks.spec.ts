import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  type CreateApp,
  IMPORT_ORDERS,
  type ImportOrder,
  itKeepsProvidersForSteps,
} from '../../compatibility/program/life-cycle-scene.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

const QUIET = { logger: process.env.SAGA_LOG ? undefined : (false as const), abortOnError: false };
const TCP: MicroserviceOptions = { transport: Transport.TCP, options: { port: 0 } };

const apps: INestApplicationContext[] = [];
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  process.env.DATABASE_URL = database.url;
});
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));
afterAll(() => database.drop());

const KINDS: Record<string, CreateApp> = {
  'an application context': (module) => NestFactory.createApplicationContext(module, QUIET),
  'an application on Express': async (module) => {
    const app = await NestFactory.create(module, QUIET);
    await app.listen(0, '127.0.0.1');
    return app;
  },
  'an application on Fastify that is only initialised': async (module) => {
    const app = await NestFactory.create(module, new FastifyAdapter(), QUIET);
    return app.init();
  },
  'a microservice': async (module) => {
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(module, { ...QUIET, ...TCP });
    await app.listen();
    return app;
  },
  'a hybrid application': async (module) => {
    const app = await NestFactory.create(module, QUIET);
    app.connectMicroservice(TCP);
    await app.startAllMicroservices();
    await app.listen(0, '127.0.0.1');
    return app;
  },
  'a testing module': async (module) =>
    (await Test.createTestingModule({ imports: [module] }).compile()).init(),
};

const ROWS: [string, ImportOrder][] = [
  ...IMPORT_ORDERS.map((order): [string, ImportOrder] => ['an application context', order]),
  ...Object.keys(KINDS)
    .slice(1)
    .flatMap((kind): [string, ImportOrder][] => [
      [kind, 'first'],
      [kind, 'in a feature module'],
    ]),
];

describe('steps find every provider open, from the last bootstrap hook to the first destroy hook', () => {
  test.each(ROWS)('of %s that imports SagaModule %s', async (kind, order) => {
    const create = async (module: DynamicModule) => {
      const app = await KINDS[kind]!(module);
      apps.push(app);
      return app;
    };
    await itKeepsProvidersForSteps(create, order);
  });
});
