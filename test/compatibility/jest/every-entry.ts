import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { type INestApplication, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import * as root from 'nestjs-durable-saga';
import * as admin from 'nestjs-durable-saga-admin';
import * as declared from 'nestjs-durable-saga-declared';
import * as database from 'nestjs-durable-saga/database';
import * as diagram from 'nestjs-durable-saga/diagram';
import * as encryption from 'nestjs-durable-saga/encryption';
import * as operators from 'nestjs-durable-saga/operators';
import * as drizzle from 'nestjs-durable-saga/drizzle';
import * as knex from 'nestjs-durable-saga/knex';
import * as kysely from 'nestjs-durable-saga/kysely';
import * as mikroOrm from 'nestjs-durable-saga/mikro-orm';
import * as prisma from 'nestjs-durable-saga/prisma';
import * as messaging from 'nestjs-durable-saga-messaging';
import * as pg from 'nestjs-durable-saga/pg';
import * as telemetry from 'nestjs-durable-saga-telemetry';
import * as testing from 'nestjs-durable-saga/testing';

/** A spec of a consumer on Nest 11, in Jest as `saga init` sets it up; the row nest11-jest runs it. */

@root.Saga({ name: 'place-order' })
class PlaceOrderSaga {
  @root.Step()
  ship(): string {
    return 'shipped';
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }),
    root.SagaModule.forRoot(),
    admin.SagaAdminModule.register({ path: 'ops/sagas', guards: [] }),
  ],
  providers: [PlaceOrderSaga],
})
class AppModule {}

const manifest = JSON.parse(readFileSync('node_modules/nestjs-durable-saga/package.json', 'utf8')) as {
  exports: object;
};
const ENTRIES: Record<string, object> = {
  '.': root,
  './database': database,
  './diagram': diagram,
  './encryption': encryption,
  './operators': operators,
  './drizzle': drizzle,
  './knex': knex,
  './kysely': kysely,
  './mikro-orm': mikroOrm,
  './prisma': prisma,
  './pg': pg,
  './testing': testing,
};

const PACKAGES: Record<string, object> = { admin, declared, messaging, telemetry };

describe('in Jest of a CommonJS project', () => {
  test.each(Object.keys(PACKAGES))('the package %s is loaded', (name) => {
    expect(Object.values(PACKAGES[name]!).some((value) => typeof value === 'function')).toBe(true);
  });

  test.each(Object.keys(manifest.exports).filter((entry) => !/\.json$|^\.\/internal/.test(entry)))(
    'the entry point %s is loaded',
    (entry) => {
      const loaded = Object.values(ENTRIES[entry] ?? {});
      expect(loaded.some((value) => typeof value === 'function')).toBe(true);
    },
  );

  describe('an application with the dashboard', () => {
    let app: INestApplication;
    beforeAll(async () => {
      const compiled = await Test.createTestingModule({ imports: [AppModule] }).compile();
      app = compiled.createNestApplication();
      await app.listen(0);
    }, 60_000);
    afterAll(() => app.close());

    test('runs a saga', async () => {
      const saga = await app.get(root.SagaService).start(PlaceOrderSaga, {});
      const { status, results } = await saga.outcome({ timeout: '20s' });
      expect([status, results]).toEqual(['completed', { ship: 'shipped' }]);
    }, 30_000);

    test('serves the dashboard and its files', async () => {
      const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
      const page = await fetch(`http://127.0.0.1:${port}/ops/sagas`);
      const html = await page.text();
      expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringMatching('html')]);
      const [, script] = /src="([^"]+\.js)"/.exec(html) ?? [];
      const file = await fetch(new URL(script ?? 'missing', page.url));
      expect([file.status, file.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching('javascript'),
      ]);
    });
  });
});
