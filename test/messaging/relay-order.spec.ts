import type { EntityManager } from 'typeorm';
import type { OutboxMessage } from '../../libs/saga/src/messaging/index.js';
import { Gate, until } from '../support/gate.js';
import { MemoryBroker } from './support/memory-broker.js';
import { type MessagingApp, MessagingApps } from './support/messaging-apps.js';
import { keysOfOneLane } from './support/lanes.js';

const apps = MessagingApps.onOwnDatabase();

/** A backlog of so many messages of other keys in the lane of `key`, so that its pages are full. */
async function backlog(app: MessagingApp, keys: readonly string[], count: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, n) =>
    message(keys[1 + (n % (keys.length - 1))]!, `f${n}`),
  );
  await app.dataSource.transaction((manager) => app.outbox.publish(manager, messages));
}

const message = (key: string, payload: string): OutboxMessage => ({ topic: 'orders', key, payload });

/** A transaction that stays open until it is told to end. */
async function opened(app: MessagingApp, work: (manager: EntityManager) => Promise<unknown>) {
  const [begun, end] = [new Gate(), new Gate()];
  const ended = app.dataSource.transaction(async (manager) => {
    await work(manager);
    begun.open();
    await end.opened;
  });
  await Promise.race([begun.opened, ended]);
  return {
    commit: async () => {
      end.open();
      await ended;
    },
  };
}

/** With pages of ten messages, sent one page at a time. */
const relay = { batch: 10, concurrency: 1, pollInterval: 20 };

describe('transactions that followed each other', () => {
  test('are sent in order, though the relay has read past the first one while it was open', async () => {
    const broker = new MemoryBroker();
    const publisher = await apps.start({ messaging: { relay: false } });
    const keys = await keysOfOneLane(apps, 5);
    const [key] = keys as [string];
    await backlog(publisher, keys, 5);
    const first = await opened(publisher, (manager) =>
      publisher.outbox.publish(manager, message(key, 'first')),
    );
    await backlog(publisher, keys, 5);

    const [readPast, goOn] = [new Gate(), new Gate()];
    broker.before = async () => {
      readPast.open();
      await goOn.opened;
    };
    await apps.start({ messaging: { transport: broker, relay } });
    await readPast.opened;
    await first.commit();
    await publisher.dataSource.transaction((manager) =>
      publisher.outbox.publish(manager, message(key, 'second')),
    );
    goOn.open();
    await until(async () => (await apps.outboxRows()).length === 0);
    expect(broker.ofKey(key)).toEqual(['first', 'second']);
  });
});

describe('an operator', () => {
  const retry = { attempts: 1, delay: 10 };

  /** Messages of one key: dead are those that say so, and all after the first one are held. */
  async function lineOf(app: MessagingApp, ...payloads: string[]): Promise<string[]> {
    const ids = await app.dataSource.transaction((manager) =>
      app.outbox.publish(
        manager,
        payloads.map((payload) => message('a', payload)),
      ),
    );
    await apps.sql(
      `UPDATE saga.outbox SET held = true, attempts = CASE WHEN payload::text LIKE '%dead%' THEN 1 ELSE 0 END,
        dead_at = CASE WHEN payload::text LIKE '%dead%' THEN now() END WHERE id = ANY($1)`,
      [ids],
    );
    return ids;
  }

  test('who discards a message while a page holds another one behind it forgets neither', async () => {
    const app = await apps.start({ messaging: { relay: false } });
    const [dead] = await lineOf(app, 'dead');
    const [behind] = await app.dataSource.transaction((manager) =>
      app.outbox.publish(manager, message('a', 'behind')),
    );
    const page = app.dataSource.createQueryRunner();
    await page.startTransaction();
    const taken = (await page.query(
      `SELECT id, behind FROM saga.outbox_take_1('other', 60000, 10, 8, 1000000)`,
    )) as object[];
    expect(taken).toEqual([{ id: behind, behind: true }]);
    const discarded = app.outbox.discard([dead!]);
    await until(async () => {
      const waiting = await apps.sql(`SELECT FROM pg_locks WHERE NOT granted`);
      return waiting.length > 0 || (await apps.outboxRows()).length === 1;
    });
    await page.commitTransaction();
    await page.release();
    expect(await discarded).toBe(1);
    expect(await apps.sql(`SELECT id FROM saga.outbox WHERE held AND retry_at <= now()`)).toEqual([
      { id: behind },
    ]);
  });

  test.each([
    ['requeues', ['first dead', 'second dead', 'last'], ['first dead']],
    ['discards', ['first dead', 'second dead', 'last'], []],
  ])('who %s a dead message sends no other dead one', async (does, payloads, sent) => {
    const broker = new MemoryBroker();
    const [first] = await lineOf(await apps.start({ messaging: { relay: false } }), ...payloads);
    const app = await apps.start({ messaging: { transport: broker, relay: { ...relay, retry } } });
    await (does === 'requeues' ? app.outbox.requeue([first!]) : app.outbox.discard([first!]));
    await until(async () => (await apps.outboxRows()).length === 2);
    await app.dataSource.transaction((manager) => app.outbox.publish(manager, message('b', 'after')));
    await until(() => broker.ofKey('b').length === 1);
    expect(broker.ofKey('a')).toEqual(sent);
    const { items } = await app.outbox.dead();
    expect(items.map(({ payload }) => payload)).toEqual(['second dead']);
    await app.outbox.requeue([items[0]!.id]);
    await until(async () => (await apps.outboxRows()).length === 0);
    expect(broker.ofKey('a')).toEqual([...sent, 'second dead', 'last']);
  });
});
