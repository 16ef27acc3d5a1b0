import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RelayedMessage } from '../../libs/messaging/src/index.js';
import { until } from '../support/gate.js';
import { payloadOf } from './support/memory-broker.js';
import { MessagingApps } from './support/messaging-apps.js';

const PROGRAM = fileURLToPath(new URL('programs/relay-process.mjs', import.meta.url));
const MESSAGES = 4_000;
const KEYS = 40;

const apps = MessagingApps.onOwnDatabase();
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) await killed(child);
});

/** The messages that the broker received from any process. */
const taken: RelayedMessage[] = [];

function relay(): ChildProcess {
  const child = fork(PROGRAM, { env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: apps.url } });
  children.push(child);
  child.on('message', (message: RelayedMessage) => {
    taken.push(message);
    if (child.connected) child.send({ id: message.id }, () => undefined);
  });
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

test('a relay that is killed in the middle loses nothing, and no order', async () => {
  const app = await apps.start({ messaging: { relay: false } });
  for (let first = 0; first < MESSAGES; first += 500)
    await app.dataSource.transaction((manager) =>
      app.outbox.publish(
        manager,
        Array.from({ length: 500 }, (_, n) => ({
          ...{ topic: 'orders', key: `k${(first + n) % KEYS}`, payload: first + n },
        })),
      ),
    );
  const [one, two] = [relay(), relay()];
  for (const [child, after] of [
    [one, 500],
    [two, 1_500],
  ] as const) {
    await until(() => taken.length > after);
    await killed(child);
    relay();
  }
  await until(async () => (await apps.outboxRows()).length === 0);
  expect(new Set(taken.map(payloadOf)).size).toBe(MESSAGES);
  for (let key = 0; key < KEYS; key += 1) {
    const arrived = taken.filter((message) => message.key === `k${key}`).map(payloadOf);
    // Repeats come after the first one, and the first ones come in order.
    expect([...new Set(arrived)].map(Number)).toEqual(
      Array.from({ length: MESSAGES / KEYS }, (_, n) => n * KEYS + key),
    );
  }
});
