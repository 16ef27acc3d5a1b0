import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  SagaModule,
  SagaNotFoundError,
  SagaOperations,
  SagaService,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { RecipeApps } from './recipe-apps.js';
import * as drizzle from './transactional-steps.drizzle.js';
import * as knex from './transactional-steps.knex.js';
import * as kysely from './transactional-steps.kysely.js';
import type { TransferLayer } from './transactional-steps.layer.js';
import * as mikroOrm from './transactional-steps.mikro-orm.js';
import * as pg from './transactional-steps.pg.js';
import * as prisma from './transactional-steps.prisma.js';
import {
  Account,
  Booking,
  TransferModule,
  TransferRequest,
  Transfers,
  TransferSaga,
  type Transfer,
} from './transactional-steps.js';

describe('the transactional-steps recipe', () => {
  const apps = RecipeApps.onOwnDatabase();
  const open = async () => {
    const app = await apps.start({
      ...{ module: { imports: [TransferModule] }, entities: [Account, Booking, TransferRequest] },
      sagas: { retry: { attempts: 3, delay: 1 } },
    });
    await app.dataSource.manager.clear(Booking);
    await app.dataSource.manager.save(Account, [
      { id: 'ada', cents: 1_000 },
      { id: 'bob', cents: 0 },
    ]);
    return app;
  };
  const cents = async () => {
    const rows = await apps.sql<{ id: string; cents: number }>('SELECT id, cents FROM account ORDER BY id');
    return Object.fromEntries(rows.map((row) => [row.id, row.cents]));
  };

  test('moves money once, whatever fails after a write', async () => {
    const { nest } = await open();
    const saga = nest.get(TransferSaga);
    const debit = saga.debit.bind(saga);
    saga.debit = async (ctx: TransactionalStepContext<Transfer>) => {
      const result = await debit(ctx);
      if (ctx.attempt === 1) throw new Error('the process is in trouble');
      return result;
    };
    const handle = await nest.get(Transfers).request({ id: 't-1', from: 'ada', to: 'bob', cents: 300 });
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('completed');
    expect(await cents()).toEqual({ ada: 700, bob: 300 });
    expect(await apps.sql('SELECT * FROM booking')).toHaveLength(2);
    const sent = await apps.sql(`SELECT payload FROM saga.outbox WHERE aggregatetype = 'bookings'`);
    expect(sent).toEqual([{ payload: { account: 'ada', cents: -300 } }]);
  });

  test('writes nothing when it refuses', async () => {
    const { nest } = await open();
    const handle = await nest.get(Transfers).request({ id: 't-2', from: 'ada', to: 'bob', cents: 5_000 });
    expect((await handle.outcome({ timeout: '10s' })).failure?.kind).toBe('rejected');
    expect(await cents()).toEqual({ ada: 1_000, bob: 0 });
    expect(await apps.sql('SELECT * FROM booking')).toEqual([]);
  });

  test('gives back what it took when it turns back', async () => {
    const { nest } = await open();
    const handle = await nest.get(Transfers).request({ id: 't-3', from: 'ada', to: 'nobody', cents: 300 });
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('compensated');
    expect(await cents()).toEqual({ ada: 1_000, bob: 0 });
    expect(await apps.sql('SELECT * FROM booking')).toHaveLength(2);
  });

  test('is requested once, however often a client repeats its request', async () => {
    const { nest } = await open();
    const request = () => nest.get(Transfers).request({ id: 't-5', from: 'ada', to: 'bob', cents: 300 });
    const [first, again] = [await request(), await request()];
    expect([first.created, again.created, again.id]).toEqual([true, false, first.id]);
    await again.outcome({ timeout: '10s' });
    expect(await cents()).toEqual({ ada: 700, bob: 300 });
  });

  test('starts no saga without the request', async () => {
    const { nest, sagas, operations } = await open();
    const transfers = nest.get(Transfers);
    await (
      await transfers.request({ id: 't-4', from: 'ada', to: 'bob', cents: 1 })
    ).outcome({ timeout: '10s' });
    await operations.cleanup({ olderThan: 0, saga: TransferSaga });
    // The request is there already, and its row is refused; with it goes the start.
    const again = transfers.request({ id: 't-4', from: 'ada', to: 'bob', cents: 1 });
    await expect(again).rejects.toThrow(/duplicate key/);
    const missing = sagas.get({ saga: TransferSaga, correlationId: 't-4' });
    await expect(missing).rejects.toBeInstanceOf(SagaNotFoundError);
  });
});

const LAYERS: readonly (readonly [name: string, layer: TransferLayer])[] = [
  ['Drizzle', drizzle],
  ['Kysely', kysely],
  ['Knex', knex],
  ['MikroORM', mikroOrm],
  ['Prisma', prisma],
  ['pg', pg],
];

describe.each(LAYERS)('the transactional-steps recipe with %s', (_, { TransferSaga, open }) => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`
      CREATE TABLE account (id text PRIMARY KEY, cents int NOT NULL);
      CREATE TABLE booking (account text NOT NULL, cents int NOT NULL, reason text NOT NULL);
      CREATE TABLE transfer_request (id text PRIMARY KEY, saga text NOT NULL);
      INSERT INTO account VALUES ('ada', 1000)`);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  test('moves money once, whatever fails after a write, writes nothing when it refuses, and starts nothing without the request', async () => {
    const layer = await open(database.url);
    class App {}
    Module({
      imports: [SagaModule.forRoot({ database: layer.database, retry: { attempts: 3, delay: 1 } })],
      providers: [TransferSaga],
    })(App);
    const nest = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
    const sagas = nest.get(SagaService);
    const operations = nest.get(SagaOperations);
    const saga = nest.get(TransferSaga);
    const debit = saga.debit.bind(saga);
    saga.debit = async (ctx: never) => {
      const result = await debit(ctx);
      if ((ctx as { attempt: number }).attempt === 1) throw new Error('the process is in trouble');
      return result;
    };
    const transfer = { id: 't-1', from: 'ada', to: 'bob', cents: 300 };
    const moved = await (await layer.request(sagas, transfer)).outcome({ timeout: '10s' });
    expect((await layer.request(sagas, transfer)).created).toBe(false);
    expect(moved).toMatchObject({ status: 'completed', results: { debit: { left: 700 } } });
    const refused = await layer.request(sagas, { ...transfer, id: 't-2', cents: 5_000 });
    expect((await refused.outcome({ timeout: '10s' })).failure?.kind).toBe('rejected');
    // Its request is there already, and the row is refused.
    await operations.cleanup({ olderThan: 0 });
    await expect(layer.request(sagas, transfer)).rejects.toThrow(
      /duplicate key|Failed query|Unique constraint/,
    );
    await expect(sagas.get({ saga: TransferSaga, correlationId: 't-1' })).rejects.toThrow(SagaNotFoundError);
    const { rows } = await client.query(
      'SELECT account, b.cents, a.cents AS left FROM booking b JOIN account a ON id = account',
    );
    expect(rows).toEqual([{ account: 'ada', cents: -300, left: 700 }]);
    await nest.close();
    await layer.close();
  });
});
