import { randomBytes } from 'node:crypto';
import { Controller } from '@nestjs/common';
import { ClientProxyFactory, type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { TcpProxy } from '../chaos/rig/src/tcp-proxy.js';
import {
  DurableEvent,
  DurableMqttServer,
  DurableRmqServer,
  Incoming,
  type IncomingMessage,
  JetStreamServer,
  JetStreamTransport,
  type SagaMessagingModuleOptions,
} from '../../libs/messaging/src/index.js';
import { pause, until } from '../support/gate.js';
import { type Broker, reachRabbit, startMqtt, startNats } from './support/brokers.js';
import { MessagingApps } from './support/messaging-apps.js';

const MESSAGES = 1_500;
const KEYS = 30;

const apps = MessagingApps.onOwnDatabase();
const received: IncomingMessage<number>[] = [];

@Controller()
class Listener {
  @DurableEvent('lost.connections')
  async handle(@Incoming() message: IncomingMessage<number>): Promise<void> {
    await Promise.resolve();
    received.push(message);
  }
}

interface Means {
  readonly messaging: Pick<SagaMessagingModuleOptions, 'client' | 'transport'>;
  readonly microservice: MicroserviceOptions;
}

const [rabbit, nats] = await Promise.all([reachRabbit(), startNats()]);
let mqtt: Broker;
beforeAll(async () => {
  mqtt = await startMqtt();
});
afterAll(() => Promise.all([mqtt.stop(), nats?.stop()]));

const name = () => `test-${randomBytes(6).toString('hex')}`;
const hostOf = (url: string) => {
  const { hostname, port } = new URL(url.includes('://') ? url : `nats://${url}`);
  return { host: hostname, port: Number(port || 5672) };
};

const BROKERS: Record<
  string,
  { readonly url: () => string | undefined; means(relay: number, server: number): Means }
> = {
  RabbitMQ: {
    url: () => rabbit,
    means: (relay, server) => {
      const queue = { queue: name(), queueOptions: { durable: true, expires: 60_000 } };
      const at = (port: number) => ({
        urls: [rabbit!.replace(/@[^/]*/, `@127.0.0.1:${port}`)],
        ...{ ...queue, socketOptions: { reconnectTimeInSeconds: 1 } },
      });
      return {
        messaging: { client: ClientProxyFactory.create({ transport: Transport.RMQ, options: at(relay) }) },
        microservice: { strategy: new DurableRmqServer(at(server)) },
      };
    },
  },
  'NATS JetStream': {
    url: () => nats?.url,
    means: (relay, server) => {
      const stream = { name: 'lost', subjects: ['lost.>'], config: { storage: 'memory' } };
      const at = (port: number) => ({ servers: `127.0.0.1:${port}`, reconnectTimeWait: 200 });
      return {
        messaging: { transport: new JetStreamTransport({ connection: at(relay), stream }) },
        microservice: {
          strategy: new JetStreamServer({
            ...{ connection: at(server), stream, consumer: name(), ackWait: '2s' },
            consumerConfig: { deliver_policy: 'new' },
          }),
        },
      };
    },
  },
  MQTT: {
    url: () => mqtt.url,
    means: (relay, server) => {
      const at = (port: number) => ({ url: `mqtt://127.0.0.1:${port}`, reconnectPeriod: 200 });
      return {
        messaging: { client: ClientProxyFactory.create({ transport: Transport.MQTT, options: at(relay) }) },
        microservice: {
          strategy: new DurableMqttServer({ ...at(server), clientId: name(), clean: false }),
        },
      };
    },
  },
};

describe.each(Object.entries(BROKERS))(
  'connections to %s that are lost again and again',
  (broker, { url, means }) => {
    test('on the way to it lose no message, kill none, and keep the order', async () => {
      const { keys } = await sendThrough((relay) => relay.cut());
      for (const [key, arrived] of keys ?? [])
        expect([...new Set(arrived)]).toEqual(
          Array.from({ length: MESSAGES / KEYS }, (_, n) => n * KEYS + Number(key.slice(1))),
        );
    });

    test('on the way from it lose no message', async () => {
      await sendThrough((_, server) => server.cut());
    });

    /** Sends and receives all messages, and cuts connections meanwhile; gives what arrived, by key. */
    async function sendThrough(cut: (relay: TcpProxy, server: TcpProxy) => void) {
      const target = url();
      if (target === undefined) {
        console.warn(`${broker} can be neither reached nor started: skipped`);
        return {};
      }
      received.length = 0;
      const [relay, server] = [await TcpProxy.before(hostOf(target)), await TcpProxy.before(hostOf(target))];
      const { messaging, microservice } = means(relay.port, server.port);
      const app = await apps.start({
        messaging: { ...messaging, relay: { retry: { attempts: 2 }, sendTimeout: '3s' } },
        ...{ microservice, controllers: [Listener] },
      });
      for (let first = 0; first < MESSAGES; first += 50) {
        const messages = Array.from({ length: 50 }, (_, n) => ({
          ...{ topic: 'lost.connections', key: `k${(first + n) % KEYS}`, payload: first + n },
        }));
        await app.dataSource.transaction((manager) => app.outbox.publish(manager, messages));
        await pause(20);
        if (first % 300 === 250) cut(relay, server);
      }
      await until(async () => (await apps.outboxRows()).length === 0);
      await until(() => new Set(received.map(({ payload }) => payload)).size === MESSAGES);
      const keys = new Map<string, number[]>();
      for (const { key, payload } of received) keys.set(key, [...(keys.get(key) ?? []), payload]);
      await app.close();
      await Promise.all([relay.close(), server.close()]);
      return { keys };
    }
  },
);

test('a connection to RabbitMQ that is lost while the server asks to consume is made anew', async () => {
  if (rabbit === undefined) return console.warn('RabbitMQ cannot be reached: skipped');
  received.length = 0;
  const proxy = await TcpProxy.before(hostOf(rabbit));
  const queue = { queue: name(), queueOptions: { durable: true, expires: 60_000 } };
  const consumerTag = name();
  proxy.cutAt(consumerTag);
  const app = await apps.start({
    messaging: {
      client: ClientProxyFactory.create({
        transport: Transport.RMQ,
        options: { urls: [rabbit], ...queue },
      }),
    },
    microservice: {
      strategy: new DurableRmqServer({
        ...{ urls: [rabbit.replace(/@[^/]*/, `@127.0.0.1:${proxy.port}`)], ...queue, consumerTag },
        socketOptions: { reconnectTimeInSeconds: 1 },
      }),
    },
    controllers: [Listener],
  });
  await app.dataSource.transaction((manager) =>
    app.outbox.publish(manager, { topic: 'lost.connections', key: 'k', payload: 1 }),
  );
  await until(() => received.length === 1);
  await app.close();
  await proxy.close();
});
