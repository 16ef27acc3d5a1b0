import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import {
  messagingMigrations,
  Outbox,
  type OutboxMessage,
  SagaMessagingModule,
  type SagaMessagingModuleOptions,
} from '../../libs/messaging/src/index.js';
import { handling } from '../../libs/saga/src/engine/observe/handled-message.js';
import { partsOf } from '../../libs/saga/src/engine/observe/trace-context.js';
import { until } from '../support/gate.js';
import { MemoryBroker } from './support/memory-broker.js';
import { type MessagingApp, MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();
const TRACE = 'a'.repeat(32);
const publish = ({ dataSource, outbox }: MessagingApp, messages: OutboxMessage | OutboxMessage[]) =>
  dataSource.transaction((manager) => outbox.publish(manager, messages));

@Module({})
class ParticipantModule {}

const startWith = (messaging: SagaMessagingModuleOptions) =>
  NestFactory.createApplicationContext(
    {
      module: ParticipantModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: apps.url }),
        SagaMessagingModule.forRoot(messaging),
      ],
    },
    { logger: false, abortOnError: false },
  );

describe('what is published while a message is handled', () => {
  test('belongs to the trace of that message, in a span of its own', async () => {
    const broker = new MemoryBroker();
    const app = await apps.start({ messaging: { transport: broker } });
    const incoming = { traceparent: `00-${TRACE}-${'b'.repeat(16)}-01` };
    await handling(incoming, () =>
      publish(app, [
        { topic: 't', payload: 1 },
        { topic: 't', payload: 2 },
      ]),
    );
    await until(() => broker.taken.length === 2);
    const spans = broker.taken.map(({ headers }) => headers.traceparent);
    expect(spans.map((span) => partsOf(span)?.trace)).toEqual([TRACE, TRACE]);
    expect(new Set(spans).size).toBe(2);
  });

  test('keeps a trace of its own', async () => {
    const broker = new MemoryBroker();
    const app = await apps.start({ messaging: { transport: broker } });
    const own = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
    const incoming = { traceparent: `00-${TRACE}-${'b'.repeat(16)}-01` };
    await handling(incoming, () => publish(app, { topic: 't', payload: 1, headers: { traceparent: own } }));
    await until(() => broker.taken.length === 1);
    expect(broker.taken[0]!.headers.traceparent).toBe(own);
  });

  test('is no reply to a saga unless it says so', async () => {
    const broker = new MemoryBroker();
    const app = await apps.start({ messaging: { transport: broker } });
    await handling({ 'saga-id': 'saga-1' }, async () => {
      await publish(app, { topic: 'news', payload: 1 });
      await app.dataSource.transaction((manager) =>
        app.outbox.reply(manager, { topic: 'replies', payload: 2 }),
      );
    });
    await until(() => broker.taken.length === 2);
    const [news, reply] = ['news', 'replies'].map((topic) =>
      broker.taken.find((sent) => sent.topic === topic),
    );
    expect(news!.headers['saga-id']).toBeUndefined();
    expect(reply).toMatchObject({ key: 'saga-1', headers: { 'saga-id': 'saga-1' } });
  });
});

test('a reply without a receiver is refused', async () => {
  const app = await apps.start({ messaging: { transport: new MemoryBroker() } });
  const reply = () => app.outbox.reply(app.dataSource.manager, { topic: 't', payload: 1 });
  await expect(reply()).rejects.toMatchObject({ code: 'SAGA_STATE' });
  await expect(handling({}, reply)).rejects.toMatchObject({ code: 'SAGA_STATE' });
});

test('dead messages are listed in pages, the oldest first', async () => {
  const app = await apps.start({ messaging: { relay: false } });
  await publish(
    app,
    Array.from({ length: 5 }, (_, n) => ({ topic: 't', key: `k${n}`, payload: n })),
  );
  await apps.sql(`UPDATE saga.outbox SET held = true, error = 'no', attempts = 10,
    dead_at = now() + (payload::text || ' microseconds')::interval`);
  const first = await app.outbox.dead({ limit: 2 });
  const second = await app.outbox.dead({ limit: 2, cursor: first.next });
  const third = await app.outbox.dead({ limit: 2, cursor: second.next });
  expect([first, second, third].flatMap(({ items }) => items.map(({ payload }) => payload))).toEqual([
    ...[0, 1, 2, 3, 4],
  ]);
  expect(third.next).toBeUndefined();
});

test.each<[string, (app: MessagingApp) => Promise<unknown>]>([
  ['a limit', ({ outbox }) => outbox.dead({ limit: 0 })],
  ['a cursor', ({ outbox }) => outbox.dead({ cursor: 'x' })],
  ['ids', ({ outbox }) => outbox.requeue(['1'])],
  ['ids to discard', ({ outbox }) => outbox.discard('1' as never)],
])('%s that cannot be is refused', async (_, call) => {
  const app = await apps.start({ messaging: { relay: false } });
  await expect(call(app)).rejects.toMatchObject({ code: 'SAGA_VALIDATION' });
});

describe('an application that migrates by itself', () => {
  test('receives the missing parts, and the function that creates them', async () => {
    const started = startWith({ relay: false, migrate: false, schema: 'missing' });
    await expect(started).rejects.toThrow(
      /SagaMessagingModule|lacks outbox.*messagingMigrations\('missing'\)/,
    );
  });

  test('runs messagingMigrations(), up and down', async () => {
    const dataSource = await new DataSource({
      type: 'postgres',
      url: apps.url,
      migrations: messagingMigrations('own'),
      migrationsTableName: 'own_migrations',
    }).initialize();
    await dataSource.runMigrations();
    const nest = await startWith({ relay: false, migrate: false, schema: 'own' });
    await nest.close();
    await dataSource.undoLastMigration();
    const left = await apps.sql(`SELECT FROM pg_class WHERE relnamespace = 'own'::regnamespace
      UNION ALL SELECT FROM pg_proc WHERE pronamespace = 'own'::regnamespace`);
    expect(left).toEqual([]);
    await dataSource.destroy();
  });
});

test('options may come from elsewhere', async () => {
  const broker = new MemoryBroker();
  const nest = await NestFactory.createApplicationContext(
    {
      module: ParticipantModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: apps.url }),
        SagaMessagingModule.forRootAsync({ useFactory: () => Promise.resolve({ transport: broker }) }),
      ],
    },
    { logger: false },
  );
  const dataSource = nest.get(DataSource);
  await dataSource.transaction((manager) => nest.get(Outbox).publish(manager, { topic: 't', payload: 1 }));
  await until(() => broker.taken.length === 1);
  await nest.close();
});
