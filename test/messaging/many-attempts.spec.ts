import { until } from '../support/gate.js';
import { MemoryBroker, refusing } from './support/memory-broker.js';
import { MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();

test('a message that was refused 32,767 times is tried again, and others are sent', async () => {
  const publisher = await apps.start({ messaging: { relay: false } });
  const publish = (payload: string, key: string) =>
    publisher.dataSource.transaction((manager) =>
      publisher.outbox.publish(manager, { topic: 'orders', key, payload }),
    );
  await publish('bad', 'a');
  await apps.sql('UPDATE saga.outbox SET attempts = 32767');
  const broker = new MemoryBroker();
  broker.before = refusing('bad');
  const retry = { attempts: 100_000, delay: 10, maxDelay: 10 };
  await apps.start({ messaging: { transport: broker, relay: { retry, pollInterval: 20 } } });
  await until(async () => ((await apps.outboxRows())[0]?.attempts ?? 0) > 32_768);
  await publish('good', 'b');
  await until(() => broker.payloads.includes('good'));
});
