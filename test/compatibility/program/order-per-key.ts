import assert from 'node:assert/strict';
import { type MessageTransport, Outbox, SagaMessagingModule } from 'nestjs-durable-saga-messaging';
import { DataSource, type EntityManager } from 'typeorm';
import { smallApp, until } from './small-app.js';

const TOPIC = 'orders';
const KEYS = 640;
const ROUNDS = 5;

/** A broker that keeps what it is sent, and is slow enough for a backlog to stay one. */
class KeepingTransport implements MessageTransport {
  readonly sent: string[] = [];
  async send({ key, payload }: { key: string; payload: unknown }): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 2));
    this.sent.push(`${key}:${String(payload)}`);
  }
}

/** One publisher, one transaction after the other: the first one is open while the relay reads past it. */
export async function keepsTheOrderOfAKey(url: string): Promise<void> {
  const transport = new KeepingTransport();
  const relay = { batch: 64, batchesAtOnce: 1, pollInterval: 20 };
  const app = await smallApp(url, { imports: [SagaMessagingModule.forRoot({ transport, relay })] });
  const [outbox, dataSource] = [app.get(Outbox, { strict: false }), app.get(DataSource)];
  const backlog = (size: number) =>
    dataSource.transaction((manager) =>
      outbox.publish(
        manager,
        Array.from({ length: size }, (_, n) => message(`other-${n % KEYS}`, n)),
      ),
    );
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const key = `K${round}`;
      const before = transport.sent.length;
      await backlog(KEYS);
      await dataSource.transaction(async (manager) => {
        await outbox.publish(manager, message(key, 0));
        await backlog(2 * KEYS);
        await until('the relay reads past it', () => transport.sent.length > before + 2 * KEYS);
      });
      await dataSource.transaction((manager: EntityManager) => outbox.publish(manager, message(key, 1)));
      await until(`${key} arrives`, () => ofKey(transport, key).length === 2);
      assert.deepEqual(ofKey(transport, key), [`${key}:0`, `${key}:1`]);
      await until('the backlog is sent', () => transport.sent.length === before + 3 * KEYS + 2);
    }
  } finally {
    await app.close();
  }
}

const message = (key: string, payload: number) => ({ topic: TOPIC, key, payload });

function ofKey({ sent }: KeepingTransport, key: string): string[] {
  return sent.filter((line) => line.startsWith(`${key}:`));
}
