import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Aedes } from 'aedes';
import amqp from 'amqplib';
import { connectAsync } from 'mqtt';

export interface Broker {
  readonly url: string;
  stop(): Promise<void>;
}

/** Where RabbitMQ is, if it is there: RABBITMQ_URL, or this machine's standard port. */
export async function reachRabbit(
  url = process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672',
): Promise<string | undefined> {
  try {
    const connection = await amqp.connect(url, { timeout: 2_000 });
    await connection.close();
    return url;
  } catch {
    return undefined;
  }
}

/** Where a broker with MQTT 5 is, if one is there: MQTT_URL, or this machine's standard port. */
export async function reachMqtt5(): Promise<string | undefined> {
  const url = process.env.MQTT_URL ?? 'mqtt://127.0.0.1:1883';
  try {
    const client = await connectAsync(
      url,
      { protocolVersion: 5, reconnectPeriod: 0, connectTimeout: 2_000 },
      false,
    );
    await client.endAsync(true);
    return url;
  } catch {
    return undefined;
  }
}

/** A nats-server with JetStream of the test's own, if the program is installed; or NATS_URL. */
export async function startNats(): Promise<Broker | undefined> {
  if (process.env.NATS_URL) return { url: process.env.NATS_URL, stop: () => Promise.resolve() };
  const folder = mkdtempSync(join(tmpdir(), 'saga-nats-'));
  const port = await freePort();
  const child = spawn('nats-server', ['-js', '-a', '127.0.0.1', '-p', String(port), '-sd', folder], {
    stdio: 'ignore',
  });
  const started = await Promise.race([
    new Promise<false>((resolve) => child.once('error', () => resolve(false))),
    untilOpen(port).then(() => true),
  ]);
  if (!started) return undefined;
  return {
    url: `127.0.0.1:${port}`,
    stop: async () => {
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An MQTT broker in this process. */
export async function startMqtt(port = 0): Promise<Broker & { port: number }> {
  const broker = await Aedes.createBroker();
  const server: Server = createServer((socket) => broker.handle(socket));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as { port: number };
  return {
    url: `mqtt://127.0.0.1:${address.port}`,
    port: address.port,
    stop: async () => {
      await new Promise<void>((resolve) => broker.close(() => resolve()));
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

async function untilOpen(port: number): Promise<void> {
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => (socket.destroy(), resolve(true)));
      socket.once('error', () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
