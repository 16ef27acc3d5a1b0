import type { EntityManager } from 'typeorm';
import type { OutboxMessage } from '../../libs/messaging/src/index.js';
import { Gate, until } from '../support/gate.js';
import { MemoryBroker, refusing } from './support/memory-broker.js';
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

/** A transaction that stays open until the test ends it. */
async function opened(app: MessagingApp, work: (manager: EntityManager) => Promise<unknown>) {
  const [started, end] = [new Gate(), new Gate()];
  const ended = app.dataSource.transaction(async (manager) => {
    await work(manager);
    started.open();
    await end.opened;
  });
  await Promise.race([started.opened, ended]);
  return {
    commit: async () => {
      end.open();
      await ended;
    },
  };
}

/** With pages of ten messages, sent one page at a time. */
const relay = { batch: 10, batchesAtOnce: 1, pollInterval: 20 };

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

/** So many seqs that a lane is not read again over all of them. */
const FAR = 30_000;

describe('a lane that was read far past open transactions', () => {
  const skipSeqs = () =>
    apps.sql(
      `SELECT setval(seq, nextval(seq) + $1) FROM (SELECT pg_get_serial_sequence('saga.outbox', 'seq') AS seq) s`,
      [FAR],
    );
  const send = (app: MessagingApp, payload: string, key: string) =>
    app.dataSource.transaction((manager) => app.outbox.publish(manager, message(key, payload)));
  const sent = () => until(async () => (await apps.outboxRows()).length === 0);

  test('is read on from before the oldest of those that have ended since', async () => {
    const broker = new MemoryBroker();
    const app = await apps.start({ messaging: { transport: broker, relay } });
    const [first, second, other] = (await keysOfOneLane(apps, 3)) as [string, string, string];
    const open = (key: string) => opened(app, (manager) => app.outbox.publish(manager, message(key, 'open')));
    await send(app, 'before', other);
    await sent();
    const older = await open(first);
    await skipSeqs();
    await send(app, 'between', other);
    await sent();
    const newer = await open(second);
    await skipSeqs();
    const [held, goOn] = [new Gate(), new Gate()];
    broker.before = async () => {
      held.open();
      await goOn.opened;
    };
    await send(app, 'after', other);
    await held.opened;
    await newer.commit();
    await older.commit();
    goOn.open();
    await sent();
    expect([broker.ofKey(first), broker.ofKey(second)]).toEqual([['open'], ['open']]);
  });

  test('still knows where to read on once the oldest of them ends, however many pages it has sent', async () => {
    const app = await apps.start({ messaging: { transport: new MemoryBroker(), relay } });
    const [key, other] = (await keysOfOneLane(apps, 2)) as [string, string];
    await send(app, 'before', other);
    await sent();
    let xid!: string;
    const open = await opened(app, async (manager) => {
      await app.outbox.publish(manager, message(key, 'open'));
      [{ xid }] = await manager.query('SELECT pg_current_xact_id()::text AS xid');
    });
    for (let page = 0; page < 30; page += 1) {
      await send(app, `page ${page}`, other);
      await sent();
    }
    const [lane] = await apps.sql<{ marks: number; older: number }>(
      `SELECT cardinality(mark_xids) AS marks, (SELECT count(*)::int FROM unnest(mark_xids) AS m(xid) WHERE m.xid < $1::xid8) AS older
       FROM saga.outbox_lane ORDER BY cardinality(mark_xids) DESC LIMIT 1`,
      [xid],
    );
    expect(lane!.older).toBe(1);
    expect(lane!.marks).toBeLessThan(20);
    await open.commit();
    await sent();
  });
});

test('a message whose seq is from before what a lane was read to, as after a restore, is sent within a minute', async () => {
  const broker = new MemoryBroker();
  const app = await apps.start({ messaging: { transport: broker, relay } });
  const [key, other] = (await keysOfOneLane(apps, 2)) as [string, string];
  const send = async (payload: string) => {
    await app.dataSource.transaction((manager) => app.outbox.publish(manager, message(other, payload)));
    await until(() => Promise.resolve(broker.ofKey(other).includes(payload)));
  };
  for (const payload of ['1', '2', '3']) await send(payload);
  await apps.sql(
    `INSERT INTO saga.outbox (seq, aggregatetype, aggregateid, type, payload) OVERRIDING SYSTEM VALUE
     VALUES (1, 'orders', $1, 'orders', '"restored"')`,
    [key],
  );
  await send('4');
  await apps.sql(`UPDATE saga.outbox_lane SET read_from_start_at = read_from_start_at - interval '1 minute'`);
  await send('5');
  await until(async () => (await apps.outboxRows()).length === 0);
  expect(broker.ofKey(key)).toEqual(['restored']);
});

test('a lane is searched for held messages only until it is read from its beginning and holds none', async () => {
  const broker = new MemoryBroker();
  broker.before = refusing('refused');
  const app = await apps.start({
    messaging: { transport: broker, relay: { ...relay, retry: { attempts: 1, delay: 10 } } },
  });
  const publish = (payload: string) =>
    app.dataSource.transaction((manager) => app.outbox.publish(manager, message('a', payload)));
  const lane = `lane = (hashtextextended('orders a', 0) & 63)`;
  const mayHold = async () => {
    const [row] = await apps.sql(`SELECT may_hold FROM saga.outbox_lane WHERE ${lane}`);
    return (row as { may_hold: boolean }).may_hold;
  };
  await publish('refused');
  await until(async () => (await app.outbox.dead()).items.length === 1);
  expect(await mayHold()).toBe(true);
  await app.outbox.discard((await app.outbox.dead()).items.map(({ id }) => id));
  await apps.sql(`UPDATE saga.outbox_lane SET read_from_start_at = '-infinity' WHERE ${lane}`);
  await publish('next');
  await until(async () => (await apps.outboxRows()).length === 0);
  expect(await mayHold()).toBe(false);
  expect(broker.ofKey('a')).toEqual(['next']);
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
    await apps.sql(`UPDATE saga.outbox_lane SET may_hold = true`);
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
      `SELECT id, behind FROM saga.outbox_take('other', 60000, 10, 8, 1000000)`,
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
