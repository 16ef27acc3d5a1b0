import { Controller } from '@nestjs/common';
import pg from 'pg';
import {
  Saga,
  SagaShardUnavailableError,
  Step,
  type StepContext,
  WaitFor,
} from '../../libs/saga/src/index.js';
import {
  Inbox,
  Incoming,
  type IncomingMessage,
  Outbox,
  SagaMessagingModule,
  type SagaMessagingModuleOptions,
  SagaReply,
} from '../../libs/messaging/src/index.js';
import { until } from '../support/gate.js';
import { inTransaction } from '../support/in-transaction.js';
import { type ShardApp, ShardApps } from '../support/shard-apps.js';
import { createTestDatabase } from '../support/test-database.js';
import { MemoryBroker, refusing } from './support/memory-broker.js';
import { MemoryServer } from './support/memory-server.js';

@Saga({ name: 'order' })
class OrderSaga {
  @Step() ask(ctx: StepContext<object>): void {
    ctx.publish({ topic: 'asked', payload: ctx.sagaId });
  }
  @WaitFor({ signal: 'payment' }) paid(_ctx: StepContext<object>, amount: number) {
    return amount;
  }
}

@Saga({ name: 'booking' })
class BookingSaga {
  constructor(private readonly outbox: Outbox) {}

  @Step({ transactional: true }) async book(ctx: StepContext<{ n: number }>): Promise<void> {
    await this.outbox.publish(ctx.transaction as object, { topic: 'booked', payload: ctx.input.n });
  }
}

@Controller()
class Replies {
  @SagaReply('replies', { signal: 'payment' }) paid(@Incoming() message: IncomingMessage<number>) {
    return message.payload;
  }
}

const apps = ShardApps.over('eu', 'us');
let broker: MemoryBroker;
beforeEach(() => (broker = new MemoryBroker()));
afterEach(() => apps.find('us'));

const sagas = [OrderSaga, BookingSaga];
const messaging = (options: SagaMessagingModuleOptions = {}) =>
  SagaMessagingModule.forRoot({
    transport: broker,
    relay: { pollInterval: '50ms', lease: '1s' },
    ...options,
  });
const start = (options?: SagaMessagingModuleOptions) => apps.start({ sagas, imports: [messaging(options)] });

const publish = (app: ShardApp, shard: string, payload: unknown) =>
  inTransaction(app.pools[shard]!, (client) => app.get(Outbox).publish(client, { topic: 't', payload }));
const outboxOn = (shard: string) => apps.sql(shard, 'SELECT id FROM saga.outbox');

test('messages are stored on the shard of their saga, or of their transaction, and sent from each', async () => {
  const app = await start();
  for (const shard of ['eu', 'us']) {
    await publish(app, shard, shard);
    await app.sagas.start(BookingSaga, { n: shard === 'eu' ? 1 : 2 }, { shard });
  }
  await until(() => broker.taken.length === 4);
  expect(broker.payloads.sort()).toEqual(['1', '2', 'eu', 'us']);
});

test('a message of a transaction is in the outbox of its database, and not sent if it rolls back', async () => {
  const app = await start({ transport: undefined, relay: false });
  await publish(app, 'us', 1);
  const failed = inTransaction(app.pools.eu!, async (client) => {
    await app.get(Outbox).publish(client, { topic: 't', payload: 2 });
    throw new Error('no');
  });
  await expect(failed).rejects.toThrow('no');
  expect([(await outboxOn('eu')).length, (await outboxOn('us')).length]).toEqual([0, 1]);
  await apps.sql('us', 'DELETE FROM saga.outbox');
});

test('the relay of one shard goes on while the database of the other is down, and that one follows', async () => {
  const app = await start();
  broker.down = true;
  await publish(app, 'us', 'held');
  apps.lose('us');
  broker.down = false;
  await publish(app, 'eu', 'one');
  await until(() => broker.payloads.includes('one'));
  await expect(publish(app, 'us', 'two')).rejects.toThrow();
  await publish(app, 'eu', 'three');
  await until(() => broker.payloads.includes('three'));
  apps.find('us');
  await until(() => broker.payloads.includes('held'));
  expect(broker.payloads).not.toContain('two');
});

test('a process that starts while a shard is down sends the messages of the others, and opens it later', async () => {
  await (await start()).close();
  apps.lose('us');
  const app = await start();
  await publish(app, 'eu', 'one');
  await until(() => broker.payloads.includes('one'));
  apps.find('us');
  await until(async () => (await app.shards.list()).every(({ reachable }) => reachable));
  await until(() =>
    publish(app, 'us', 'two').then(
      () => true,
      () => false,
    ),
  );
  await until(() => broker.payloads.includes('two'));
});

test('the inbox handles a message once on the database of the transaction, or of the pool', async () => {
  const app = await start();
  const inbox = app.get(Inbox);
  const begin = (client: pg.PoolClient) =>
    inbox.once('m-1', client, (transaction) =>
      app.sagas.start(OrderSaga, {}, { correlationId: 'by-m-1', transaction: transaction }),
    );
  expect((await inTransaction(app.pools.us!, begin)).handled).toBe(true);
  expect(await inTransaction(app.pools.us!, begin)).toEqual({ handled: false });
  expect(await inbox.once('m-1', app.pools.us!, () => 1)).toEqual({ handled: false });
  expect(await inbox.once('m-2', app.pools.eu!, () => 1)).toEqual({ handled: true, result: 1 });
  const noted = (shard: string) => apps.sql(shard, 'SELECT message_id FROM saga.inbox');
  expect(await noted('us')).toEqual([{ message_id: 'm-1' }]);
  expect(await noted('eu')).toEqual([{ message_id: 'm-2' }]);
  const found = await app.sagas.get({ saga: OrderSaga, correlationId: 'by-m-1' });
  expect(await apps.idsOn('us')).toContain(found.id);
});

test('a reply is a signal to the shard of its saga', async () => {
  const server = new MemoryServer();
  const parts = { sagas, imports: [messaging()], controllers: [Replies], microservice: { strategy: server } };
  const app = await apps.start(parts);
  for (const shard of ['eu', 'us']) {
    const saga = await app.sagas.start(OrderSaga, {}, { shard });
    const headers = { 'saga-id': saga.id };
    await server.deliver('replies', {
      id: `reply-${shard}`,
      type: 'Paid',
      key: saga.id,
      headers,
      payload: 7,
    });
    expect(await saga.outcome()).toMatchObject({ status: 'completed', results: { paid: 7 } });
  }
});

test('dead messages of all shards are listed in pages, requeued and discarded', async () => {
  const app = await start({ relay: { pollInterval: '50ms', retry: { attempts: 1 } } });
  const outbox = app.get(Outbox);
  broker.before = refusing('d1', 'd2', 'd3', 'd4');
  for (const [n, shard] of ['eu', 'us', 'us', 'eu'].entries()) {
    await publish(app, shard, `d${n + 1}`);
    await until(async () => (await outbox.dead()).items.length === n + 1);
  }
  const payloads: unknown[] = [];
  const ids: string[] = [];
  for (let cursor: string | undefined, n = 0; n === 0 || cursor !== undefined; n += 1) {
    const page = await outbox.dead({ limit: 1, ...(cursor !== undefined && { cursor }) });
    payloads.push(...page.items.map(({ payload }) => payload));
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.next;
  }
  expect(payloads).toEqual(['d1', 'd2', 'd3', 'd4']);
  apps.lose('us');
  await until(async () => (await outbox.dead()).unreachable !== undefined);
  expect(await outbox.dead()).toMatchObject({ items: [{}, {}], unreachable: ['us'] });
  await expect(outbox.discard(ids)).rejects.toThrow(SagaShardUnavailableError);
  apps.find('us');
  await until(async () => (await outbox.dead()).unreachable === undefined);
  broker.before = () => undefined;
  expect(await outbox.requeue(ids)).toBe(2);
  await until(() => broker.payloads.includes('d2') && broker.payloads.includes('d3'));
});

test('a transaction of another database is refused by name', async () => {
  const app = await start();
  const other = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: other.url });
  try {
    const published = inTransaction(pool, (client) =>
      app.get(Outbox).publish(client, { topic: 't', payload: 1 }),
    );
    await expect(published).rejects.toThrow('The transaction is not open in the database of a shard');
    const handled = inTransaction(pool, (client) => app.get(Inbox).once('m', client, () => 1));
    await expect(handled).rejects.toMatchObject({ code: 'SAGA_TRANSACTION' });
  } finally {
    await pool.end();
    await other.drop();
  }
});

test('a database, or shards, that are not those of SagaModule are refused', async () => {
  const database = apps.database('eu');
  const other = apps.database('us');
  await expect(start({ database })).rejects.toThrow(
    'database is set, but SagaModule has the shards eu, us, and messages of each are in its own outbox',
  );
  await expect(start({ shards: { eu: database } })).rejects.toThrow(
    'shards has eu, but SagaModule has the shards eu, us',
  );
  await (await start()).close();
  await expect(start({ shards: { eu: other, us: database } })).rejects.toThrow(
    "SagaMessagingModule: the database of shards.eu is the shard 'us'",
  );
});
