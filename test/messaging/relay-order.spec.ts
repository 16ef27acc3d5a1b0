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
