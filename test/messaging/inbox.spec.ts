import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import type { Duration } from 'nestjs-durable-saga';
import { Gate, until } from '../support/gate.js';
import { MemoryBroker } from './support/memory-broker.js';
import { MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();
const start = (retention?: Duration) =>
  apps.start({ messaging: { transport: new MemoryBroker(), inbox: { retention } } });
const journal = () => apps.sql<{ consumer: string; message_id: string }>('SELECT * FROM saga.inbox');
const spend = (manager: EntityManager) => manager.query('INSERT INTO spent VALUES (1)');
const spent = async () => (await apps.sql('SELECT FROM spent')).length;

beforeAll(() => apps.sql('CREATE TABLE spent (amount int)'));
beforeEach(() => apps.sql('TRUNCATE spent'));

describe('a message', () => {
  test('that comes twice takes effect once', async () => {
    const { inbox, dataSource } = await start();
    const id = randomUUID();
    const work = async (manager: EntityManager) => {
      await spend(manager);
      return 'done';
    };
    expect(await inbox.once(id, dataSource.manager, work)).toEqual({ handled: true, result: 'done' });
    expect(await inbox.once(id, dataSource.manager, work)).toEqual({ handled: false });
    expect(await spent()).toBe(1);
  });

  test('takes effect once when two deliveries of it arrive at once', async () => {
    const [one, two] = [await start(), await start()];
    const id = randomUUID();
    const [entered, goOn] = [new Gate(), new Gate()];
    const first = one.inbox.once(id, one.dataSource.manager, async (manager) => {
      entered.open();
      await goOn.opened;
      await spend(manager);
    });
    await entered.opened;
    const second = two.inbox.once(id, two.dataSource.manager, spend);
    const waits = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until(async () => (await apps.sql(waits)).length > 0);
    goOn.open();
    expect([(await first).handled, (await second).handled]).toEqual([true, false]);
    expect(await spent()).toBe(1);
  });

  test('is handled by the second delivery if the first one fails meanwhile', async () => {
    const [one, two] = [await start(), await start()];
    const id = randomUUID();
    const [entered, goOn] = [new Gate(), new Gate()];
    const first = one.inbox.once(id, one.dataSource.manager, async () => {
      entered.open();
      await goOn.opened;
      throw new Error('no');
    });
    await entered.opened;
    const second = two.inbox.once(id, two.dataSource.manager, spend);
    goOn.open();
    await expect(first).rejects.toThrow('no');
    expect((await second).handled).toBe(true);
    expect(await spent()).toBe(1);
  });

  test('whose handler’s transaction fails leaves no journal row', async () => {
    const { inbox, dataSource } = await start();
    const failed = inbox.once(randomUUID(), dataSource.manager, async (manager) => {
      await spend(manager);
      throw new Error('declined');
    });
    await expect(failed).rejects.toThrow('declined');
    expect([await journal(), await spent()]).toEqual([[], 0]);
  });

  test('is noted in the caller’s transaction, where there is one', async () => {
    const { inbox, dataSource } = await start();
    const rolledBack = dataSource.transaction(async (manager) => {
      await inbox.once(randomUUID(), manager, spend);
      throw new Error('later');
    });
    await expect(rolledBack).rejects.toThrow('later');
    expect([await journal(), await spent()]).toEqual([[], 0]);
  });

  test('is handled once by each consumer', async () => {
    const { inbox, dataSource } = await start();
    const id = randomUUID();
    for (const consumer of ['mail', 'ledger', 'mail'])
      await inbox.once(id, dataSource.manager, spend, { consumer });
    expect(await spent()).toBe(2);
  });

  test('whose reply is published with it is answered once', async () => {
    const broker = new MemoryBroker();
    const { inbox, outbox, dataSource } = await apps.start({ messaging: { transport: broker } });
    const id = randomUUID();
    const handle = () =>
      inbox.once(id, dataSource.manager, (manager) =>
        outbox.publish(manager, { topic: 'replies', payload: 'yes' }),
      );
    await Promise.all([handle(), handle(), handle()]);
    await until(async () => broker.taken.length > 0 && (await apps.outboxRows()).length === 0);
    expect(broker.payloads).toEqual(['yes']);
  });

  test.each([
    ['', 'The message has no id: its sender has to set one'],
    ['a\0', 'messageId is'],
    ['x'.repeat(256), 'messageId is'],
    [undefined, 'messageId is undefined'],
  ])('with the id %p is refused', async (id, message) => {
    const { inbox, dataSource } = await start();
    await expect(inbox.once(id as string, dataSource.manager, spend)).rejects.toMatchObject({
      code: 'SAGA_VALIDATION',
      message: expect.stringContaining(message),
    });
  });
});

test('the journal forgets what is older than its retention, and nothing else', async () => {
  const { inbox, dataSource } = await start('1h');
  await inbox.once('new', dataSource.manager, spend);
  await apps.sql(
    `INSERT INTO saga.inbox SELECT 'default', 'old-' || n, now() - interval '61 minutes' FROM generate_series(1, 2500) n`,
  );
  const app = await start('1h');
  await (await app.runtime.ready()).databases.all[0]!.retention.tick();
  expect((await journal()).map((row) => row.message_id)).toEqual(['new']);
});

test('with change data capture in the place of the relay, messages are deleted by their age', async () => {
  const app = await apps.start({ messaging: { relay: false, outbox: { retention: '1h' } } });
  const publish = (payload: string) =>
    app.dataSource.transaction((manager) => app.outbox.publish(manager, { topic: 't', key: 'k', payload }));
  await publish('old');
  await apps.sql(`UPDATE saga.outbox SET created_at = now() - interval '2 hours'`);
  await publish('new');
  await (await app.runtime.ready()).databases.all[0]!.retention.tick();
  expect((await apps.outboxRows()).map(({ payload }) => payload)).toEqual(['new']);
});
