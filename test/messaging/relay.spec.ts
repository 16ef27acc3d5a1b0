import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { MessageRefusedError, type OutboxMessage } from '../../libs/messaging/src/index.js';
import { until } from '../support/gate.js';
import { MemoryBroker, refusing } from './support/memory-broker.js';
import { type MessagingApp, MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();

const message = (key: string, payload: string): OutboxMessage => ({ topic: 'orders', key, payload });
const publish = ({ dataSource, outbox }: MessagingApp, ...messages: OutboxMessage[]) =>
  dataSource.transaction((manager) => outbox.publish(manager, messages));
const deadOf = (app: MessagingApp) =>
  until(async () => {
    const { items } = await app.outbox.dead();
    return items.length > 0 ? items : undefined;
  });
const isEmpty = () => until(async () => (await apps.outboxRows()).length === 0);
/** Messages of so many keys, each numbered in the order in which they are published. */
const numbered = (count: number, keys: number): OutboxMessage[] =>
  Array.from({ length: count }, (_, n) => message(`k${n % keys}`, String(n)));
const expectInOrder = (broker: MemoryBroker, count: number, keys: number) => {
  expect(new Set(broker.payloads).size).toBe(count);
  for (let key = 0; key < keys; key += 1) {
    const wanted = Array.from({ length: count }, (_, n) => n).filter((n) => n % keys === key);
    expect([...new Set(broker.ofKey(`k${key}`))].map(Number)).toEqual(wanted);
  }
};

describe('a message', () => {
  test('of a transaction that commits is sent, with its id, type, key and trace, and is gone then', async () => {
    const broker = new MemoryBroker();
    const app = await apps.start({ messaging: { transport: broker } });
    const [id] = await publish(app, {
      ...message('o-1', 'placed'),
      type: 'Placed',
      headers: { tenant: 't' },
    });
    await until(() => broker.taken.length > 0);
    expect(broker.taken[0]).toMatchObject({
      ...{ id, topic: 'orders', key: 'o-1', type: 'Placed', payload: '"placed"' },
      headers: {
        id,
        type: 'Placed',
        key: 'o-1',
        tenant: 't',
        traceparent: expect.stringMatching(/^00-\w{32}-\w{16}-01$/),
      },
    });
    await isEmpty();
  });

  test('of a transaction that rolled back is never sent', async () => {
    const broker = new MemoryBroker();
    const app = await apps.start({ messaging: { transport: broker } });
    const rolledBack = app.dataSource.transaction(async (manager) => {
      await app.outbox.publish(manager, message('a', 'never'));
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    await publish(app, message('a', 'after'));
    await until(() => broker.taken.length > 0);
    expect(broker.payloads).toEqual(['after']);
    expect(broker.asked).toEqual(['after']);
  });

  test('that cannot be sent is refused immediately, and nothing of that call is stored', async () => {
    const app = await apps.start({ messaging: { transport: new MemoryBroker() } });
    const refused = publish(app, message('a', 'fine'), { topic: 'orders', payload: { n: 1n } });
    await expect(refused).rejects.toMatchObject({ code: 'SAGA_PAYLOAD', path: 'messages[1].payload.n' });
    expect(await apps.outboxRows()).toEqual([]);
  });

  test('is sent immediately, without a poll', async () => {
    const broker = new MemoryBroker();
    const app = await apps.start({ messaging: { transport: broker } });
    app.stopPolling();
    await publish(app, message('a', '1'));
    await until(() => broker.taken.length === 1);
    await publish(app, message('a', '2'));
    await until(() => broker.taken.length === 2);
  });
});

describe('messages of one key', () => {
  test('arrive in order, with three relays side by side', async () => {
    const broker = new MemoryBroker();
    broker.before = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    const options = { messaging: { transport: broker, relay: { batch: 200 } } };
    const started = [await apps.start(options), await apps.start(options), await apps.start(options)];
    for (let n = 0; n < 3_000; n += 100) {
      await publish(started[n % 3]!, ...numbered(3_000, 40).slice(n, n + 100));
    }
    await isEmpty();
    expect(broker.taken).toHaveLength(3_000);
    expectInOrder(broker, 3_000, 40);
  });

  test('are never sent at the same time', async () => {
    const inProgress = new Map<string, number>();
    const broker = new MemoryBroker();
    let most = 0;
    broker.before = async ({ key }) => {
      inProgress.set(key, (inProgress.get(key) ?? 0) + 1);
      most = Math.max(most, inProgress.get(key)!);
      await new Promise((resolve) => setTimeout(resolve, 1));
      inProgress.set(key, inProgress.get(key)! - 1);
    };
    const app = await apps.start({ messaging: { transport: broker } });
    await publish(app, ...numbered(300, 10));
    await isEmpty();
    expect(most).toBe(1);
  });
});

describe('a broker that is down for a while', () => {
  test('loses nothing and kills nothing', async () => {
    const broker = new MemoryBroker();
    broker.down = true;
    const app = await apps.start({
      messaging: { transport: broker, relay: { retry: { attempts: 1 } } },
    });
    await publish(app, ...numbered(500, 20));
    await until(() => broker.asked.length > 22);
    expect((await apps.outboxRows()).filter(({ dead, attempts }) => dead || attempts > 0)).toEqual([]);
    broker.down = false;
    await isEmpty();
    expectInOrder(broker, 500, 20);
  });

  test('in the middle of a batch kills nothing either', async () => {
    const broker = new MemoryBroker();
    let outages = 0;
    broker.before = () => {
      if (broker.taken.length === 100 && outages === 0) {
        outages += 1;
        broker.down = true;
        setTimeout(() => (broker.down = false), 300);
      }
    };
    const app = await apps.start({
      messaging: { transport: broker, relay: { retry: { attempts: 1 } } },
    });
    await publish(app, ...numbered(500, 20));
    await until(async () => (await apps.outboxRows()).length === 0);
    expectInOrder(broker, 500, 20);
  });
});

describe('a topic of which the broker refuses messages', () => {
  const logged = jest.spyOn(Logger.prototype, 'warn');
  const told = jest.spyOn(Logger.prototype, 'log');
  afterAll(() => jest.restoreAllMocks());

  test('is in the log at the first refusal, once, and again when the broker accepts them', async () => {
    const broker = new MemoryBroker();
    let refused = 0;
    broker.before = ({ topic }) => {
      if (topic === 'unbound' && (refused += 1) < 9) throw new MessageRefusedError('no queue');
    };
    const retry = { attempts: 20, delay: 10, maxDelay: 20 };
    const app = await apps.start({ messaging: { transport: broker, relay: { retry, pollInterval: 50 } } });
    const lines = (spy: typeof logged) =>
      spy.mock.calls.map(([line]) => String(line)).filter((line) => line.includes("'unbound'"));
    await publish(
      app,
      ...['1', '2', '3'].map((n) => ({ ...message('a', n), topic: 'unbound' })),
      message('b', '4'),
    );
    await isEmpty();
    expect(refused).toBeGreaterThanOrEqual(9);
    expect(lines(logged)).toEqual([
      expect.stringContaining("The broker refuses a message to 'unbound': no queue."),
    ]);
    expect(lines(told)).toEqual(["The broker accepts messages to 'unbound' again"]);
  });
});

describe('a poisonous message', () => {
  const retry = { attempts: 3, delay: 10, maxDelay: 20 };

  test('is dead after its attempts, holds its key and nothing else, and goes on when requeued', async () => {
    const broker = new MemoryBroker();
    broker.before = refusing('bad');
    const app = await apps.start({ messaging: { transport: broker, relay: { retry, pollInterval: 50 } } });
    await publish(app, message('a', '1'), message('a', 'bad'), message('a', '2'), message('b', 'other'));
    await until(async () => (await app.outbox.dead()).items.length === 1);
    await publish(app, message('a', '3'), message('b', 'more'));
    await until(() => broker.ofKey('b').length === 2);
    expect(broker.ofKey('a')).toEqual(['1']);
    expect(broker.asked.filter((payload) => payload === 'bad')).toHaveLength(3);
    const { items } = await app.outbox.dead();
    expect(items[0]).toMatchObject({ topic: 'orders', key: 'a', payload: 'bad', attempts: 3 });
    expect(items[0]!.error).toMatch('refused bad');
    broker.before = () => undefined;
    expect(await app.outbox.requeue([items[0]!.id])).toBe(1);
    await isEmpty();
    expect(broker.ofKey('a')).toEqual(['1', 'bad', '2', '3']);
  });

  test('is dead as well when it fails some other way, while the broker takes what was sent with it', async () => {
    const broker = new MemoryBroker();
    broker.before = async (sent) => {
      if (sent.payload === '"bad"') throw new Error('something');
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const app = await apps.start({ messaging: { transport: broker, relay: { retry, pollInterval: 50 } } });
    await publish(app, message('a', 'bad'), message('a', 'behind'));
    for (let n = 0; (await app.outbox.dead()).items.length === 0; n += 1) {
      await publish(app, message(`b${n % 7}`, String(n)));
      await until(() => broker.payloads.includes(String(n)));
    }
    expect(broker.ofKey('a')).toEqual([]);
  });

  test('is discarded by an operator, and its key goes on', async () => {
    const broker = new MemoryBroker();
    broker.before = refusing('bad');
    const app = await apps.start({ messaging: { transport: broker, relay: { retry, pollInterval: 50 } } });
    await publish(app, message('a', 'bad'), message('a', '2'), message('a', '3'));
    const [dead] = await deadOf(app);
    expect(await app.outbox.discard([dead!.id])).toBe(1);
    await isEmpty();
    expect(broker.payloads).toEqual(['2', '3']);
  });

  test('that is alive may not be requeued or discarded', async () => {
    const broker = new MemoryBroker();
    broker.down = true;
    const app = await apps.start({ messaging: { transport: broker } });
    const ids = await publish(app, message('a', '1'));
    expect([await app.outbox.requeue(ids), await app.outbox.discard(ids)]).toEqual([0, 0]);
    expect(await apps.outboxRows()).toHaveLength(1);
  });

  test('with a long line behind it lets all of it go in order', async () => {
    const broker = new MemoryBroker();
    broker.before = refusing('bad');
    const app = await apps.start({ messaging: { transport: broker, relay: { retry, pollInterval: 50 } } });
    await publish(
      app,
      message('a', 'bad'),
      ...Array.from({ length: 2_500 }, (_, n) => message('a', String(n))),
    );
    const [dead] = await deadOf(app);
    await until(async () => (await apps.outboxRows()).every(({ held }) => held));
    broker.before = () => undefined;
    await app.outbox.requeue([dead!.id]);
    await publish(app, message('a', 'last'));
    await isEmpty();
    expect(broker.payloads).toEqual(['bad', ...Array.from({ length: 2_500 }, (_, n) => String(n)), 'last']);
  });
});
