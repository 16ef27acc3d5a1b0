import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';

const PROGRAM = new URL('../../dist/broker/main.js', import.meta.url);

let folder: string;
let broker: { process: ChildProcess; url: string };
const clients: MqttClient[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mqtt-broker-'));
  await startBroker('0');
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.endAsync(true)));
  await killBroker();
  await rm(folder, { recursive: true, force: true });
});

async function startBroker(port: string): Promise<void> {
  const child = fork(PROGRAM, { env: { ...process.env, MQTT_FOLDER: folder, MQTT_PORT: port } });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  broker = { process: child, url };
}

async function killBroker(): Promise<void> {
  const exit = once(broker.process, 'exit');
  broker.process.kill('SIGKILL');
  await exit;
}

/** As after a crash: the same port, and what is left in the folder. */
async function killAndRestartBroker(): Promise<void> {
  await killBroker();
  await startBroker(new URL(broker.url).port);
}

function nextEvent(
  client: MqttClient,
  event: 'connect' | 'message' | 'packetreceive' | 'close',
): Promise<void> {
  return new Promise((resolve) => client.once(event, () => resolve()));
}

interface Visitor {
  readonly client: MqttClient;
  readonly received: string[];
  /** By what was received. */
  readonly messageIds: Map<string, number>;
  /** Resolves once it was given so many. */
  hasReceived(count: number): Promise<void>;
}

/** @param session its name, if it is to outlive the connection */
async function connect(session?: string, { acknowledge = true } = {}): Promise<Visitor> {
  const how = session === undefined ? { clean: true } : { clean: false, clientId: session };
  const client = mqtt.connect(broker.url, { ...how, reconnectPeriod: 0, resubscribe: false });
  clients.push(client);
  const received: string[] = [];
  client.on('error', () => undefined);
  const messageIds = new Map<string, number>();
  client.on('message', (_topic, payload, { messageId }) => {
    received.push(payload.toString());
    messageIds.set(payload.toString(), messageId!);
  });
  // mqtt acknowledges once this has called back.
  if (!acknowledge) client.handleMessage = () => undefined;
  await nextEvent(client, 'connect');
  return {
    client,
    received,
    messageIds,
    hasReceived: async (count) => {
      while (received.length < count) await nextEvent(client, 'message');
    },
  };
}

async function subscribeAndLeave(session: string, topic: string): Promise<void> {
  const { client } = await connect(session);
  await client.subscribeAsync(topic, { qos: 1 });
  await client.endAsync();
}

describe('the embedded broker', () => {
  it('gives what it acknowledged before it was killed to a subscriber that was offline', async () => {
    await subscribeAndLeave('offline', 'orders');
    const { client } = await connect();
    const acknowledged: string[] = [];
    let published = 0;
    const publish = (): void => {
      const text = String((published += 1));
      client.publish('orders', text, { qos: 1 }, (error) => {
        if (error) return;
        acknowledged.push(text);
        publish();
      });
    };
    // Fifty messages are always in flight, so that the kill interrupts some of them.
    for (let n = 0; n < 50; n += 1) publish();
    while (acknowledged.length < 500) await nextEvent(client, 'packetreceive');
    await killAndRestartBroker();
    const back = await connect('offline');
    await back.hasReceived(acknowledged.length);
    expect(back.received).toEqual(expect.arrayContaining(acknowledged));
  });

  it('delivers again what was delivered and not acknowledged', async () => {
    const first = await connect('slow', { acknowledge: false });
    await first.client.subscribeAsync('orders', { qos: 1 });
    const { client } = await connect();
    await client.publishAsync('orders', 'one', { qos: 1 });
    await first.hasReceived(1);
    await killAndRestartBroker();
    const back = await connect('slow');
    await back.hasReceived(1);
    expect(back.received).toEqual(['one']);
  });

  it('delivers it under the same message id, so that a late acknowledgement is never taken for another', async () => {
    const first = await connect('late', { acknowledge: false });
    await first.client.subscribeAsync('orders', { qos: 1 });
    const { client } = await connect();
    await client.publishAsync('orders', 'one', { qos: 1 });
    await first.hasReceived(1);
    await killAndRestartBroker();
    const publisher = await connect();
    await publisher.client.publishAsync('orders', 'two', { qos: 1 });
    const back = await connect('late');
    await back.hasReceived(2);
    expect(back.received).toEqual(['one', 'two']);
    expect(back.messageIds.get('one')).toBe(first.messageIds.get('one'));
    expect(back.messageIds.get('two')).not.toBe(first.messageIds.get('one'));
  });

  it('does not deliver again what was acknowledged', async () => {
    const first = await connect('quick');
    await first.client.subscribeAsync('orders', { qos: 1 });
    const { client } = await connect();
    await client.publishAsync('orders', 'one', { qos: 1 });
    await first.hasReceived(1);
    // Comes after the acknowledgement, on the same connection.
    await first.client.subscribeAsync('others', { qos: 1 });
    await killAndRestartBroker();
    const publisher = await connect();
    const back = await connect('quick');
    await publisher.client.publishAsync('orders', 'two', { qos: 1 });
    await back.hasReceived(1);
    expect(back.received).toEqual(['two']);
  });

  it('keeps the order of a topic, over a restart as well', async () => {
    await subscribeAndLeave('orderly', 'orders/+');
    const wanted = Array.from({ length: 200 }, (_, n) => String(n));
    for (const half of [wanted.slice(0, 100), wanted.slice(100)]) {
      const { client } = await connect();
      await Promise.all(half.map((text) => client.publishAsync('orders/nl', text, { qos: 1 })));
      await killAndRestartBroker();
    }
    const back = await connect('orderly');
    await back.hasReceived(200);
    expect(back.received).toEqual(wanted);
  });

  it.each([
    ['QoS 2', { qos: 2 }],
    ['retained messages', { qos: 1, retain: true }],
  ] as const)('refuses %s, which it would not keep', async (_what, options) => {
    const { client } = await connect();
    const closed = nextEvent(client, 'close');
    client.publish('orders', 'one', options, () => undefined);
    await closed;
  });
});
