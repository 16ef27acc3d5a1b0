import { type INestApplicationContext, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { DataSource } from 'typeorm';
import {
  Saga,
  SagaModule,
  type SagaModuleOptions,
  SagaService,
  Step,
  StepRejectedError,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { AesGcmCodec } from '../../libs/saga/src/encryption.js';
import { pgDatabase } from '../../libs/saga/src/databases/pg/index.js';
import { restateEngine } from '../../libs/restate/src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { Gate } from '../support/gate.js';
import '../support/with-resolvers.mjs';

interface Order {
  readonly n: number;
  readonly fails?: boolean;
  readonly waits?: boolean;
  readonly card?: string;
}

const SECRET = '4711-0815-2342';
const program = restateProgram();
let server: RestateServer;
let database: TestDatabase;
let pool: pg.Pool;
let reached = new Gate();
let gate = new Gate();
const open = new Set<INestApplicationContext>();

type Sends = { query(text: string, values: unknown[]): Promise<unknown> };
const enter = (sends: Sends, n: number, what: string) =>
  sends.query('INSERT INTO entry (n, what) VALUES ($1, $2)', [n, what]);

@Saga({ name: 'booked' })
class BookedSaga {
  @Step({ compensate: 'release', transactional: true })
  async reserve({ manager, input }: TransactionalStepContext<Order>): Promise<{ card?: string }> {
    await enter(manager, input.n, 'reserve');
    return { card: input.card };
  }
  async release({ manager, input }: TransactionalCompensationContext<Order>): Promise<void> {
    await enter(manager, input.n, 'release');
  }

  @Step({ transactional: true, retry: { attempts: 1 } })
  async charge({ manager, input }: TransactionalStepContext<Order>): Promise<string> {
    await enter(manager, input.n, 'charge');
    if (input.waits) {
      reached.open();
      await gate.opened;
    }
    if (input.fails) throw new StepRejectedError('declined');
    return 'paid';
  }
}

@Saga({ name: 'awaiting' })
class AwaitingSaga {
  @WaitFor({ signal: 'go' })
  go(_ctx: unknown, payload: string): string {
    return payload;
  }
}

@Saga({ name: 'pooled' })
class PooledSaga {
  @Step({ transactional: true })
  async work({ transaction, input }: TransactionalStepContext<Order, pg.PoolClient>): Promise<void> {
    await enter(transaction, input.n, 'pooled');
  }
}

async function application(
  options: SagaModuleOptions = {},
  imports: ModuleMetadata['imports'] = [TypeOrmModule.forRoot({ type: 'postgres', url: database.url })],
  providers: ModuleMetadata['providers'] = [BookedSaga, AwaitingSaga],
) {
  const { ingress, admin } = server;
  const engine = restateEngine({ ingress, admin, port: 0 });
  @Module({ imports: [...imports, SagaModule.forRoot({ engine, ...options })], providers })
  class AppModule {}
  const nest = await NestFactory.createApplicationContext(AppModule, {
    logger: ['error'],
    abortOnError: false,
  });
  open.add(nest);
  return { nest, sagas: nest.get(SagaService) };
}

const entriesOf = async (n: number): Promise<string[]> => {
  const { rows } = await pool.query<{ what: string }>('SELECT what FROM entry WHERE n = $1 ORDER BY id', [n]);
  return rows.map(({ what }) => what);
};

if (!program) test.skip('There is no Restate server for this platform on npm', () => undefined);
else {
  beforeAll(async () => {
    server = await RestateServer.start(program);
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url });
    await pool.query('CREATE TABLE entry (id serial, n int, what text)');
  });
  beforeEach(() => {
    reached = new Gate();
    gate = new Gate();
  });
  afterEach(async () => {
    for (const nest of open) await nest.close();
    open.clear();
  });
  afterAll(async () => {
    await pool?.end();
    await server?.stop();
    await database?.drop();
  });

  test('what steps and compensations write commits once, with what Restate records', async () => {
    const { sagas } = await application();
    const completed = await sagas.start(BookedSaga, { n: 1 });
    expect(await completed.outcome()).toMatchObject({ status: 'completed', results: { charge: 'paid' } });
    expect(await entriesOf(1)).toEqual(['reserve', 'charge']);
    const rejected = await sagas.start(BookedSaga, { n: 2, fails: true });
    expect(await rejected.outcome()).toMatchObject({ status: 'compensated' });
    expect(await entriesOf(2)).toEqual(['reserve', 'release']);
  });

  test('a saga that is cancelled while its last step commits is compensated', async () => {
    const { sagas } = await application();
    const handle = await sagas.start(BookedSaga, { n: 3, waits: true });
    await reached.opened;
    await sagas.cancel(handle.id, { reason: 'changed my mind' });
    gate.open();
    expect(await handle.outcome()).toMatchObject({ status: 'compensated' });
    expect((await entriesOf(3)).filter((what) => what !== 'charge')).toEqual(['reserve', 'release']);
  });

  test('a saga that is started in a transaction runs once that has committed, and can be waited for at once', async () => {
    const { nest, sagas } = await application();
    const source = nest.get(DataSource);
    const handle = await source.transaction(async (manager) => {
      await enter(manager, 4, 'placed');
      return sagas.start(BookedSaga, { n: 4 }, { transaction: manager, correlationId: 'order-4' });
    });
    expect(await handle.outcome()).toMatchObject({ status: 'completed' });
    expect(await entriesOf(4)).toEqual(['placed', 'reserve', 'charge']);
    const again = source.transaction(async (manager) => {
      const same = await sagas.start(
        BookedSaga,
        { n: 4 },
        { transaction: manager, correlationId: 'order-4' },
      );
      expect([same.id, same.created]).toEqual([handle.id, false]);
      await enter(manager, 5, 'placed');
      await sagas.start(BookedSaga, { n: 5 }, { transaction: manager, correlationId: 'order-5' });
      throw new Error('no');
    });
    await expect(again).rejects.toThrow('no');
    await expect(sagas.get({ saga: BookedSaga, correlationId: 'order-5' })).rejects.toThrow('No saga');
    expect(await entriesOf(5)).toEqual([]);
  });

  test('a signal of a transaction arrives once that has committed', async () => {
    const { nest, sagas } = await application();
    const source = nest.get(DataSource);
    const waiting = await sagas.start(AwaitingSaga, undefined);
    await source.transaction((manager) => sagas.signal(waiting.id, 'go', 'now', { transaction: manager }));
    expect(await waiting.outcome()).toMatchObject({ status: 'completed', results: { go: 'now' } });
    const refused = source.transaction((manager) =>
      sagas.signal(waiting.id, 'other', 1, { transaction: manager }),
    );
    await expect(refused).rejects.toThrow(`'other'`);
  });

  test('any database layer has the transactions', async () => {
    const { sagas } = await application({ database: pgDatabase(pool) }, [], [PooledSaga]);
    const client = await pool.connect();
    await client.query('BEGIN');
    const handle = await sagas.start(PooledSaga, { n: 6 }, { transaction: client });
    await client.query('COMMIT');
    client.release();
    expect(await handle.outcome()).toMatchObject({ status: 'completed' });
    expect(await entriesOf(6)).toEqual(['pooled']);
  });

  test('with a codec, nothing that a transaction keeps for Restate is in clear', async () => {
    const codec = new AesGcmCodec({ keys: { k1: Buffer.alloc(32, 1) }, current: 'k1' });
    const { nest, sagas } = await application({ codec });
    const source = nest.get(DataSource);
    const kept = await source.transaction(async (manager) => {
      const { id } = await sagas.start(BookedSaga, { n: 7, card: SECRET }, { transaction: manager });
      const rows = await manager.query<{ call: string }[]>('SELECT call FROM saga.committed_call');
      expect(rows).toHaveLength(1);
      expect(rows[0]!.call).not.toContain(SECRET);
      return id;
    });
    expect((await sagas.get(kept)).id).toBe(kept);
    expect(await sagas.wait<BookedSaga>(kept)).toMatchObject({ results: { reserve: { card: SECRET } } });
    const { rows } = await pool.query<{ checkpoint: string }>(
      'SELECT checkpoint FROM saga.step_commit WHERE saga_id = $1',
      [kept],
    );
    expect(rows[0]!.checkpoint).toContain('charge');
    expect(rows[0]!.checkpoint).not.toContain(SECRET);
  });

  test('a transactional step without a database is refused at start-up, and told how to have one', async () => {
    await expect(application({}, [])).rejects.toThrow(
      "Step 'reserve' of saga 'booked@1' is transactional, for which Restate needs the application's database. " +
        'SagaModule found no TypeORM DataSource. Import TypeOrmModule.forRoot',
    );
    const { sagas } = await application({}, [], [AwaitingSaga]);
    const within = sagas.start(AwaitingSaga, undefined, { transaction: {} });
    await expect(within).rejects.toThrow(
      'start({ transaction }) needs a database beside Restate. Give SagaModule.forRoot({ dataSource }) or { database }.',
    );
  });

  test('while Restate does not answer, a start in a transaction is refused at once', async () => {
    const { nest, sagas } = await application();
    const source = nest.get(DataSource);
    await server.kill();
    try {
      const refused = source.transaction((manager) =>
        sagas.start(BookedSaga, { n: 8 }, { transaction: manager }),
      );
      await expect(refused).rejects.toMatchObject({
        code: 'SAGA_UNAVAILABLE',
        message: expect.stringMatching(
          /^Saga 'booked' is not part of the transaction, because Restate does not answer: connect ECONNREFUSED \S+\. Roll it back/,
        ),
      });
    } finally {
      await server.restart();
    }
  });

  test('with migrate: false, what the schema lacks is named, and which migrations make it', async () => {
    await expect(application({ migrate: false, schema: 'other' })).rejects.toThrow(
      /lacks step_commit, committed_call.*restateMigrations\('other'\)/s,
    );
  });
}
