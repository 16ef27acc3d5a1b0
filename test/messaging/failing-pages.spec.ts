import type { EngineLog } from '../../libs/saga/src/engine/ports/engine-log.js';
import { Relay } from '../../libs/messaging/src/relay/relay.js';
import type { PageLimits } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { PostgresOutbox } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { until } from '../support/gate.js';
import { MemoryBroker } from './support/memory-broker.js';
import { MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();

const RETRY = { attempts: 10, delay: 1_000, backoff: 2, maxDelay: 1_000, jitter: 0 } as never;
const SETTINGS = { name: 'r', batch: 64, batchesAtOnce: 2, lease: 30_000, sendTimeout: 30_000, retry: RETRY };

/** An outbox whose server gives pages of so many messages at most in time. */
class SlowOutbox extends PostgresOutbox {
  static readonly MOST = 5;

  override take(relay: string, lease: number, most: PageLimits) {
    if (most.messages > SlowOutbox.MOST)
      return Promise.reject(new Error('canceling statement due to statement timeout'));
    return super.take(relay, lease, most);
  }
}

test('a page that the database cannot give in time is logged and counted immediately, and smaller ones are sent', async () => {
  const app = await apps.start({ messaging: { relay: false } });
  await app.dataSource.transaction((manager) =>
    app.outbox.publish(
      manager,
      Array.from({ length: 100 }, (_, n) => ({ topic: 't', key: `k${n % 7}`, payload: n })),
    ),
  );
  const lines: string[] = [];
  const line = (message: string) => void lines.push(message);
  const log: EngineLog = { debug: () => undefined, log: line, warn: line, error: line };
  const counted: unknown[] = [];
  const broker = new MemoryBroker();
  const relay = new Relay(
    new SlowOutbox(app.dataSource, 'saga'),
    broker,
    { ...SETTINGS, shutdownTimeout: 1_000 },
    log,
    undefined,
    (error) => counted.push(error),
  );
  relay.start();
  await until(() => counted.length > 0);
  expect(lines[0]).toBe(
    'A run of the relay failed: canceling statement due to statement timeout. The next run reads smaller pages',
  );
  await until(async () => (await apps.outboxRows()).length === 0);
  expect(new Set(broker.payloads).size).toBe(100);
  await relay.stop();
});
