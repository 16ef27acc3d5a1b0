import { randomBytes } from 'node:crypto';
import { Controller } from '@nestjs/common';
import { ClientProxyFactory, type MicroserviceOptions, Transport } from '@nestjs/microservices';
import {
  DurableEvent,
  DurableMqttServer,
  Incoming,
  type IncomingMessage,
  JetStreamServer,
  JetStreamTransport,
  type SagaMessagingModuleOptions,
} from '../../libs/messaging/src/index.js';
import { until } from '../support/gate.js';
import { type Broker, reachMqtt5, reachRabbit, startMqtt, startNats } from './support/brokers.js';
import { MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();

/** What handlers were given, and what is to go wrong in them. */
const received: IncomingMessage<{ n: number }>[] = [];
let failures = 0;

@Controller()
class Listener {
  @DurableEvent('orders.placed', { redeliverAfter: 20 })
  async placed(@Incoming() message: IncomingMessage<{ n: number }>): Promise<void> {
    await Promise.resolve();
    received.push(message);
    if (failures > 0) {
      failures -= 1;
      throw new Error('not now');
    }
  }
}

interface Means {
  readonly messaging: Pick<SagaMessagingModuleOptions, 'client' | 'transport'>;
  readonly microservice: MicroserviceOptions;
}

const [rabbit, nats, mosquitto] = await Promise.all([reachRabbit(), startNats(), reachMqtt5()]);
let mqtt: Broker;

beforeAll(async () => {
  mqtt = await startMqtt();
});
afterAll(async () => {
  await Promise.all([mqtt.stop(), nats?.stop()]);
});
beforeEach(() => {
  received.length = 0;
  failures = 0;
});

const name = () => `test-${randomBytes(6).toString('hex')}`;

const BROKERS: Record<string, { readonly missing?: string; means(): Means }> = {
  RabbitMQ: {
    missing: rabbit ? undefined : 'no RabbitMQ can be reached; give RABBITMQ_URL',
    means: () => {
      const options = {
        ...{ urls: [rabbit!], queue: name(), queueOptions: { durable: true, expires: 60_000 } },
      };
      const client = ClientProxyFactory.create({ transport: Transport.RMQ, options });
      return {
        messaging: { client },
        microservice: { transport: Transport.RMQ, options: { ...options, noAck: false, prefetchCount: 50 } },
      };
    },
  },
  'NATS JetStream': {
    missing: nats ? undefined : 'nats-server is not installed; give NATS_URL',
    means: () => {
      const stream = { name: 'orders', subjects: ['orders.>'], config: { storage: 'memory' } };
      const connection = { servers: nats!.url };
      return {
        messaging: { transport: new JetStreamTransport({ connection, stream }) },
        microservice: {
          strategy: new JetStreamServer({
            ...{ connection, stream, consumer: name(), redeliverAfter: 20 },
            consumerConfig: { deliver_policy: 'new' },
          }),
        },
      };
    },
  },
  'MQTT 3.1.1': { means: () => mqttMeans({ url: mqtt.url, protocolVersion: 4 }) },
  'MQTT 5': {
    missing: mosquitto ? undefined : 'no broker with MQTT 5 can be reached; give MQTT_URL',
    means: () => mqttMeans({ url: mosquitto!, protocolVersion: 5 }),
  },
};

function mqttMeans(options: { url: string; protocolVersion: 4 | 5 }): Means {
  const client = ClientProxyFactory.create({ transport: Transport.MQTT, options });
  const session = { clientId: name(), clean: false };
  return {
    messaging: { client },
    microservice: { strategy: new DurableMqttServer({ ...options, ...session }) },
  };
}

describe.each(Object.entries(BROKERS))('over %s', (_, { missing, means }) => {
  const tested = missing === undefined ? test : test.skip;
  if (missing !== undefined) test(`is skipped: ${missing}`, () => undefined);

  tested('a message arrives whole', async () => {
    const { messaging, microservice } = means();
    const app = await apps.start({ messaging, microservice, controllers: [Listener] });
    const [id] = await app.dataSource.transaction((manager) =>
      app.outbox.publish(manager, {
        ...{ topic: 'orders.placed', key: 'o-1', type: 'Placed', payload: { n: 1 } },
        headers: { tenant: 'a' },
      }),
    );
    await until(() => received.length > 0);
    expect(received[0]).toMatchObject({
      ...{ id, key: 'o-1', type: 'Placed', payload: { n: 1 } },
      headers: { tenant: 'a', traceparent: expect.stringMatching(/^00-/) },
    });
  });

  tested('a message whose handler throws comes back', async () => {
    const { messaging, microservice } = means();
    const app = await apps.start({ messaging, microservice, controllers: [Listener] });
    failures = 2;
    await app.dataSource.transaction((manager) =>
      app.outbox.publish(manager, { topic: 'orders.placed', key: 'o-1', payload: { n: 1 } }),
    );
    await until(() => received.length === 3);
    expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  });

  tested('a thousand messages of twenty keys arrive, each key in order', async () => {
    const { messaging, microservice } = means();
    const app = await apps.start({ messaging, microservice, controllers: [Listener] });
    for (let n = 0; n < 1_000; n += 100) {
      await app.dataSource.transaction((manager) =>
        app.outbox.publish(
          manager,
          Array.from({ length: 100 }, (_, k) => ({
            ...{ topic: 'orders.placed', key: `k${(n + k) % 20}`, payload: { n: n + k } },
          })),
        ),
      );
    }
    await until(() => new Set(received.map(({ id }) => id)).size === 1_000);
    for (let key = 0; key < 20; key += 1) {
      const numbers = received.filter((message) => message.key === `k${key}`).map(({ payload }) => payload.n);
      expect([...new Set(numbers)]).toEqual(Array.from({ length: 50 }, (_, n) => n * 20 + key));
    }
  });
});

(nats ? test : test.skip)(
  'JetStream redelivers after the time of the handler, and one message at a time keeps the order',
  async () => {
    const stream = { name: 'orders', subjects: ['orders.>'], config: { storage: 'memory' } };
    const connection = { servers: nats!.url };
    const app = await apps.start({
      messaging: { transport: new JetStreamTransport({ connection, stream }) },
      microservice: {
        strategy: new JetStreamServer({
          ...{ connection, stream, consumer: name(), messagesAtOnce: 1, redeliverAfter: '1h' },
          consumerConfig: { deliver_policy: 'new' },
        }),
      },
      controllers: [Listener],
    });
    failures = 2;
    const messages = Array.from({ length: 5 }, (_, n) => {
      return { topic: 'orders.placed', key: 'o-1', payload: { n } };
    });
    await app.dataSource.transaction((manager) => app.outbox.publish(manager, messages));
    await until(() => received.length === 7);
    expect(received.map(({ payload: { n } }) => n)).toEqual([0, 0, 0, 1, 2, 3, 4]);
  },
);
