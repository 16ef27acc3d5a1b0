import type { OutboxMessage } from '../../libs/messaging/src/index.js';
import { PostgresOutbox } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { until } from '../support/gate.js';
import { MemoryBroker } from './support/memory-broker.js';
import { type MessagingApp, MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();

const MB = 2 ** 20;
const MOST = { messages: 1_000, lanes: 8, bytes: MB };

const large = (key: string, n: number, bytes: number): OutboxMessage => ({
  topic: 'orders',
  key,
  payload: { n, text: 'x'.repeat(bytes) },
});
const publish = ({ dataSource, outbox }: MessagingApp, ...messages: OutboxMessage[]) =>
  dataSource.transaction((manager) => outbox.publish(manager, messages));
const publisher = () => apps.start({ messaging: { relay: false, maxPayloadBytes: 64 * MB } });
const outboxOf = ({ dataSource }: MessagingApp) => new PostgresOutbox(dataSource, 'saga');
const bytesOf = (messages: readonly { payload: string }[]) =>
  messages.reduce((sum, { payload }) => sum + payload.length, 0);

test('a page of large messages is bounded in bytes, and all of them are sent in order', async () => {
  const app = await publisher();
  for (let n = 0; n < 96; n += 8)
    await publish(app, ...Array.from({ length: 8 }, (_, k) => large(`k${(n + k) % 8}`, n + k, MB / 4)));
  const outbox = outboxOf(app);
  const seen: Record<string, number[]> = {};
  for (;;) {
    const taken = await outbox.take('relay', 60_000, MOST);
    if (!taken.found) break;
    expect(bytesOf(taken.messages)).toBeLessThanOrEqual(2 * MB);
    for (const { key, payload } of taken.messages)
      (seen[key] ??= []).push((JSON.parse(payload) as { n: number }).n);
    const sent = taken.messages.map(({ id }) => id);
    await outbox.settle(taken.lanes, { sent, failed: [], behind: [], unfinished: new Set() });
  }
  expect(Object.keys(seen)).toHaveLength(8);
  for (const [key, numbers] of Object.entries(seen))
    expect(numbers).toEqual(Array.from({ length: 12 }, (_, n) => n * 8 + Number(key.slice(1))));
});

test('messages over the bound, in several lanes, are taken one at a time, and each lane has its turn', async () => {
  const app = await publisher();
  for (let n = 0; n < 12; n += 1) await publish(app, large(`k${n % 4}`, n, 3 * MB));
  const outbox = outboxOf(app);
  const keys: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const { messages, lanes } = await outbox.take('relay', 60_000, MOST);
    expect(messages).toHaveLength(1);
    keys.push(messages[0]!.key);
    const sent = messages.map(({ id }) => id);
    await outbox.settle(lanes, { sent, failed: [], behind: [], unfinished: new Set() });
  }
  expect(new Set(keys.slice(0, 4)).size).toBe(4);
  expect(await apps.outboxRows()).toEqual([]);
});

test('messages behind one that is held cost a page nothing, however large they are', async () => {
  const app = await publisher();
  const [first] = await publish(app, large('k', 0, 10));
  await apps.sql(`UPDATE saga.outbox SET held = true, retry_at = now() + interval '1 hour' WHERE id = $1`, [
    first,
  ]);
  for (let n = 0; n < 16; n += 1) await publish(app, large('k', n, MB));
  const { messages } = await outboxOf(app).take('relay', 60_000, MOST);
  expect(messages).toEqual([]);
  expect((await apps.outboxRows()).every(({ held }) => held)).toBe(true);
});

test('a list of dead messages ends after 8 MiB, and its pages have all of them', async () => {
  const app = await publisher();
  for (let n = 0; n < 20; n += 1) await publish(app, large(`k${n}`, n, n === 7 ? 12 * MB : MB));
  await apps.sql(`UPDATE saga.outbox SET held = true, attempts = 1, error = 'no', dead_at = now()`);
  const seen: number[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await app.outbox.dead({ limit: 50, cursor });
    const size = bytesOf(items.map(({ payload }) => ({ payload: JSON.stringify(payload) })));
    // The last one may go past the bound.
    expect(size).toBeLessThan(8 * MB + 12.1 * MB);
    expect(items.length).toBeLessThanOrEqual(8);
    seen.push(...items.map(({ payload }) => (payload as { n: number }).n));
    cursor = next;
  } while (cursor !== undefined);
  expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
});

test('a backlog of large messages on few keys is sent, one page after the other', async () => {
  const app = await publisher();
  for (let n = 0; n < 120; n += 4)
    await publish(app, ...Array.from({ length: 4 }, (_, k) => large(`k${(n + k) % 8}`, n + k, MB)));
  const broker = new MemoryBroker();
  await apps.start({ messaging: { transport: broker } });
  await until(async () => (await apps.sql('SELECT FROM saga.outbox LIMIT 1')).length === 0);
  const numbers = broker.taken.map(({ payload }) => (JSON.parse(payload) as { n: number }).n);
  expect(new Set(numbers).size).toBe(120);
});
