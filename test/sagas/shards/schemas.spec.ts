import { setImmediate as nextTurn } from 'node:timers/promises';
import pg, { type PoolClient } from 'pg';
import { pgDatabase } from '../../../libs/saga/src/databases/pg/index.js';
import {
  Saga,
  type SagaHandle,
  type SagaModuleOptions,
  SagaService,
  SagaTransactionError,
  Step,
  type StepContext,
  SubSaga,
  type TransactionalStepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { Inbox, Outbox, SagaMessagingModule } from '../../../libs/messaging/src/index.js';
import { MemoryBroker } from '../../messaging/support/memory-broker.js';
import { Gate, until } from '../../support/gate.js';
import { inTransaction } from '../../support/in-transaction.js';
import { type ShardApp, ShardApps } from '../../support/shard-apps.js';

interface Order {
  readonly n: number;
}

@Saga({ name: 'shipment' })
class ShipmentSaga {
  @Step() send() {
    return 'sent';
  }
}

@Saga({ name: 'order' })
class OrderSaga {
  constructor(
    private readonly outbox: Outbox,
    private readonly inbox: Inbox,
    private readonly sagas: SagaService,
  ) {}

  @Step({ transactional: true })
  async reserve(ctx: TransactionalStepContext<Order, unknown, PoolClient>) {
    const { transaction } = ctx;
    await this.outbox.publish(transaction, { topic: 'reserved', payload: ctx.input.n });
    await this.inbox.once(`order-${ctx.input.n}`, transaction, () => undefined);
    return (await this.sagas.start(ShipmentSaga, {}, { transaction })).id;
  }
  @SubSaga(() => ShipmentSaga) ship() {
    return {};
  }
}

@Saga({ name: 'payment' })
class PaymentSaga {
  @WaitFor({ signal: 'paid' }) paid(_ctx: StepContext<object>, amount: number) {
    return amount;
  }
}

@Saga({ name: 'account', lockKey: ({ input }: { input: { account: string } }) => input.account })
class AccountSaga {
  @WaitFor({ signal: 'closed' }) close() {}
}

/** Opens with the first transactional step. */
/** The pool of both shards, the sagas of which a step runs, and what opens once both have one. */
let crowd: { readonly pool: pg.Pool; running: number; readonly both: Gate; begun: number };

@Saga({ name: 'crowd' })
class CrowdSaga {
  @Step({ after: [] }) beside() {
    crowd.running += 1;
    if (crowd.running === 2) crowd.both.open();
  }
  @Step({ after: [], transactional: true }) async inside() {
    crowd.begun += 1;
    await crowd.both.opened;
    // By then, the step of the other one has its connection if it can.
    await nextTurn();
    await crowd.pool.query('SELECT 1');
  }
}

const sagas = [OrderSaga, ShipmentSaga, PaymentSaga, AccountSaga];
/** Two databases, of which one is several shards. */
const apps = ShardApps.over('home', 'away');
const SHARDS = ['eu', 'us', 'asia'];
let broker: MemoryBroker;
beforeEach(() => (broker = new MemoryBroker()));

const pools: pg.Pool[] = [];
const poolOf = (name: string, max = 10) => {
  const pool = new pg.Pool({ connectionString: apps.url(name), max });
  pool.on('error', () => undefined);
  pools.push(pool);
  return pool;
};
afterAll(() => Promise.all(pools.map((pool) => pool.end())));

/** `eu` and `us` are schemas of one database, over one pool; `asia` is another database. */
async function start(options: SagaModuleOptions = {}, relay?: false) {
  const [home, away] = [poolOf('home'), poolOf('away')];
  const shards = {
    eu: { database: pgDatabase(home), schema: 'saga_eu' },
    us: { database: pgDatabase(home), schema: 'saga_us' },
    asia: { database: pgDatabase(away), schema: 'saga_asia' },
  };
  const messaging = SagaMessagingModule.forRoot(
    relay === false ? { relay } : { transport: broker, relay: { pollInterval: '50ms' } },
  );
  const app = await apps.start({
    ...{ sagas, shards: [], imports: [messaging] },
    options: { worker: { pollInterval: '50ms', lease: '5s' }, shards, ...options },
  });
  return { app, home, away };
}

const databaseOf = (shard: string) => (shard === 'asia' ? 'away' : 'home');
const rowsOn = (shard: string, table: string) =>
  apps.sql<{ id: string }>(databaseOf(shard), `SELECT * FROM saga_${shard}.${table}`);
/** The shards that have a saga. */
async function shardsWith(id: string): Promise<string[]> {
  const found: string[] = [];
  for (const shard of SHARDS)
    if ((await rowsOn(shard, 'instance')).some((row) => row.id === id)) found.push(shard);
  return found;
}

test('shards of one database and one pool run their sagas each in its own schema', async () => {
  const { app } = await start();
  for (const [n, shard] of SHARDS.entries()) {
    const handle = await app.sagas.start(OrderSaga, { n }, { shard });
    expect((await handle.outcome()).status).toBe('completed');
    expect(await shardsWith(handle.id)).toEqual([shard]);
    const { results } = await handle.outcome();
    // What a step starts and stores in its transaction is on the shard of its saga.
    expect(await shardsWith(results.reserve!)).toEqual([shard]);
    expect(await rowsOn(shard, 'inbox')).toMatchObject([{ message_id: `order-${n}` }]);
  }
  await until(() => broker.taken.length === 3);
  expect(broker.payloads.sort()).toEqual(['0', '1', '2']);
  expect(await apps.sql('home', "SELECT to_regnamespace('saga') AS there")).toEqual([{ there: null }]);
  expect(await app.shards.list()).toMatchObject(SHARDS.map((name) => ({ name, reachable: true })));
  await app.shards.drain('us', { by: 'ann' });
  expect((await app.shards.list()).map(({ accepting }) => accepting)).toEqual([true, false, true]);
  await app.shards.open('us', { by: 'ann' });
});

test('a message in a transaction of the application is stored on the first shard of its database', async () => {
  const { app, home, away } = await start({}, false);
  const before = await Promise.all(SHARDS.map(async (shard) => (await rowsOn(shard, 'outbox')).length));
  for (const pool of [home, home, away])
    await inTransaction(pool, (client) => app.get(Outbox).publish(client, { topic: 't', payload: 1 }));
  const after = await Promise.all(SHARDS.map(async (shard) => (await rowsOn(shard, 'outbox')).length));
  expect(after.map((count, n) => count - before[n]!)).toEqual([2, 0, 1]);
  await apps.sql('home', 'DELETE FROM saga_eu.outbox');
  await apps.sql('away', 'DELETE FROM saga_asia.outbox');
});

test('a start in a transaction is on the shard that it names, among those of the database', async () => {
  const { app, home, away } = await start();
  for (const shard of ['eu', 'us']) {
    const { id } = await inTransaction(home, (transaction) =>
      app.sagas.start(PaymentSaga, {}, { transaction, shard }),
    );
    expect(await shardsWith(id)).toEqual([shard]);
    await inTransaction(home, (transaction) => app.sagas.signal(id, 'paid', 3, { transaction }));
    expect((await app.sagas.wait(id)).results).toEqual({ paid: 3 });
    await expect(
      inTransaction(away, (transaction) => app.sagas.start(PaymentSaga, {}, { transaction, shard })),
    ).rejects.toThrow(`shard is '${shard}', but the transaction is open in the database of shard 'asia'`);
    await expect(
      inTransaction(away, (transaction) => app.sagas.signal(id, 'paid', 3, { transaction })),
    ).rejects.toThrow(SagaTransactionError);
  }
  await expect(
    inTransaction(home, (transaction) => app.sagas.start(PaymentSaga, {}, { transaction, shard: 'asia' })),
  ).rejects.toThrow("but the transaction is open in the database of shard 'eu', 'us'");
});

test('a start in a transaction is on the shard of shardOf', async () => {
  const { app, home } = await start({ shardOf: () => 'us' });
  const { id } = await inTransaction(home, (transaction) =>
    app.sagas.start(PaymentSaga, {}, { transaction }),
  );
  expect(await shardsWith(id)).toEqual(['us']);
});

test('a start in a transaction is on the home of its keys, among the shards of the database', async () => {
  const { app, home } = await start();
  const found = new Set<string>();
  for (let n = 0; n < 12; n += 1) {
    const options = { correlationId: `keyed-${n}` };
    const starting = () =>
      inTransaction(home, (transaction) => app.sagas.start(PaymentSaga, {}, { transaction, ...options }));
    const first = await starting();
    const [shard, ...more] = await shardsWith(first.id);
    expect([shard, more]).toEqual([expect.stringMatching(/^(eu|us)$/), []]);
    found.add(shard!);
    expect(await starting()).toMatchObject({ id: first.id, created: false });
  }
  expect([...found].sort()).toEqual(['eu', 'us']);
  // Without a key, it may be any.
  const free = await inTransaction(home, (transaction) => app.sagas.start(PaymentSaga, {}, { transaction }));
  expect(['eu', 'us']).toContain((await shardsWith(free.id))[0]);
});

test('a saga that exists in another database is not started again in a transaction', async () => {
  const { app, home, away } = await start();
  for (const [shard, pool] of [
    ['asia', home],
    ['us', away],
  ] as const) {
    const options = { correlationId: `there-${shard}` };
    const there = await app.sagas.start(PaymentSaga, {}, { ...options, shard });
    const again = await inTransaction(pool, (transaction) =>
      app.sagas.start(PaymentSaga, {}, { ...options, transaction }),
    );
    expect(again).toMatchObject({ id: there.id, created: false });
    expect((await app.sagas.find({ correlationId: options.correlationId })).items).toHaveLength(1);
    await expect(
      inTransaction(pool, (transaction) =>
        app.sagas.start(PaymentSaga, { other: 1 }, { ...options, transaction }),
      ),
    ).rejects.toThrow('with another input');
  }
});

test('a lock holds on its shard alone, and its queue moves on by a notification', async () => {
  const { app } = await start();
  const input = { account: 'one' };
  const handles: SagaHandle[] = [];
  for (const shard of ['eu', 'us', 'us']) handles.push(await app.sagas.start(AccountSaga, input, { shard }));
  const states = async () =>
    Promise.all(handles.map(async ({ id }) => (await app.sagas.get(id)).waitingFor?.kind));
  await until(async () => (await states()).join() === 'signal,signal,lock');
  await app.sagas.signal(handles[1]!.id, 'closed');
  await until(async () => (await states()).join() === 'signal,,signal');
  for (const n of [0, 2]) await app.sagas.signal(handles[n]!.id, 'closed');
  for (const handle of handles) expect((await handle.outcome()).status).toBe('completed');
});

test('transactional steps of two shards on one pool do not take its last connection', async () => {
  const pool = poolOf('home', 2);
  const shards = {
    eu: { database: pgDatabase(pool), schema: 'crowd_eu' },
    us: { database: pgDatabase(pool), schema: 'crowd_us' },
  };
  crowd = { pool, running: 0, both: new Gate(), begun: 0 };
  const app = await apps.start({
    ...{ sagas: [CrowdSaga], shards: [] },
    options: { worker: { pollInterval: '50ms', lease: '30s' }, shards },
  });
  const handles = await Promise.all(['eu', 'us'].map((shard) => app.sagas.start(CrowdSaga, {}, { shard })));
  for (const handle of handles) expect((await handle.outcome({ timeout: '10s' })).status).toBe('completed');
  expect(crowd.begun).toBe(2);
});

describe('two shards in one place are refused at start-up', () => {
  const starting = (shards: SagaModuleOptions['shards']) =>
    apps.start({ sagas: [PaymentSaga], shards: [], options: { shards } });
  const registered = async (schema: string) =>
    apps.sql('home', `SELECT name FROM ${schema}.shard`).catch(() => []);

  test('before anything is registered, whatever their pools are', async () => {
    await expect(
      starting({
        eu: { database: pgDatabase(poolOf('home')), schema: 'twice' },
        us: { database: pgDatabase(poolOf('home')), schema: 'twice' },
      }),
    ).rejects.toThrow(
      "SagaModule: shards.eu and shards.us are the same database and schema. Give each shard a database or a schema of its own, such as us: { database, schema: 'saga_us' }.",
    );
    expect(await registered('twice')).toEqual([]);
  });

  test('a schema that is another shard is refused by its name', async () => {
    const app: ShardApp = await starting({ eu: { database: pgDatabase(poolOf('home')), schema: 'one' } });
    await app.close();
    await expect(starting({ us: { database: pgDatabase(poolOf('home')), schema: 'one' } })).rejects.toThrow(
      "the database of shards.us is the shard 'eu'",
    );
  });

  test('SagaMessagingModule with other schemas is refused', async () => {
    const place = (schema: string) => ({ eu: { database: pgDatabase(poolOf('home')), schema } });
    const messaging = SagaMessagingModule.forRoot({ relay: false, shards: place('other') });
    await expect(
      apps.start({
        ...{ sagas: [PaymentSaga], shards: [], imports: [messaging] },
        options: { shards: place('own') },
      }),
    ).rejects.toThrow(
      "the schema of shards.eu is 'other', but SagaModule has 'own'; remove shards to use the shards of SagaModule",
    );
  });
});

test('an unknown option of a shard is refused by its name', () => {
  const place = { database: pgDatabase(poolOf('home')), shema: 'saga_eu' };
  return expect(
    apps.start({ sagas: [PaymentSaga], shards: [], options: { shards: { eu: place } } }),
  ).rejects.toThrow("unknown option 'shards.eu.shema'. Did you mean 'shards.eu.schema'?");
});
