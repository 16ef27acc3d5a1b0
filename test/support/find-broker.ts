import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Broker, freePort, reachRabbit, startNats } from '../messaging/support/brokers.js';

/** A broker that tests may use, or why there is none. */
export type FoundBroker = (Broker & { readonly missing?: undefined }) | { readonly missing: string };

/** Milliseconds. RabbitMQ takes its time. */
const START_TIMEOUT = 30_000;

/** The one that RABBITMQ_URL or NATS_URL names or, for RabbitMQ, that runs here; otherwise one that is started, if installed. */
export async function findBroker(kind: 'rabbitmq' | 'nats'): Promise<FoundBroker> {
  if (kind === 'nats') {
    const nats = await startNats();
    if (!nats) return { missing: 'nats-server is not installed, and NATS_URL is not set' };
    return { ...nats, url: nats.url.includes('://') ? nats.url : `nats://${nats.url}` };
  }
  const url = await reachRabbit();
  if (url) return { url, stop: async () => undefined };
  return (await startRabbit()) ?? { missing: 'no RabbitMQ can be reached or started; give RABBITMQ_URL' };
}

/** Under a name of its own, beside whatever runs; what is spawned is a script, so the server writes its process id. */
async function startRabbit(): Promise<Broker | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'saga-rabbit-'));
  // It runs as a user of its own.
  await chmod(folder, 0o777);
  const at = (name: string): string => join(folder, name);
  const [port, distribution] = [await freePort(), await freePort()];
  await writeFile(at('rabbitmq.conf'), `listeners.tcp.1 = 127.0.0.1:${port}\n`);
  const child = spawn('rabbitmq-server', {
    stdio: 'ignore',
    env: {
      ...process.env,
      RABBITMQ_NODENAME: `test-${port}@localhost`,
      RABBITMQ_DIST_PORT: String(distribution),
      RABBITMQ_CONFIG_FILE: at('rabbitmq.conf'),
      RABBITMQ_ENABLED_PLUGINS_FILE: at('plugins'),
      RABBITMQ_MNESIA_BASE: at('data'),
      RABBITMQ_LOG_BASE: at('log'),
      RABBITMQ_PID_FILE: at('pid'),
    },
  });
  child.on('error', () => undefined);
  const stop = async () => {
    if (isRunning(child)) {
      const exit = once(child, 'exit');
      process.kill(existsSync(at('pid')) ? Number(await readFile(at('pid'), 'utf8')) : child.pid!);
      await exit;
    }
    await rm(folder, { recursive: true, force: true });
  };
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  for (const deadline = Date.now() + START_TIMEOUT; Date.now() < deadline && isRunning(child);) {
    if (await reachRabbit(url)) return { url, stop };
    await sleep(100);
  }
  await stop();
  return undefined;
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}
