import type { INestMicroservice } from '@nestjs/common';
import {
  ClientKafka,
  ClientMqtt,
  ClientRMQ,
  type MicroserviceOptions,
  type MqttOptions,
  type RmqOptions,
  Transport,
} from '@nestjs/microservices';
import type { MqttClient } from 'mqtt';
import {
  ClientProxyTransport,
  DurableMqttServer,
  JetStreamServer,
  type JetStreamStream,
  JetStreamTransport,
  type MessageTransport,
  type SagaMessagingModuleOptions,
} from 'nestjs-durable-saga-messaging';
import { TOPIC_PREFIX, TOPICS_OF } from '../messages/topics.js';
import { type Broker, readEnvironment } from './environment.js';
import type { Service } from './service.js';

/** Messages that one service handles at once, where the broker hands over several. */
const MESSAGES_AT_ONCE = 20;
/** Milliseconds. After this long without its service a queue of a demo that is over is removed. */
const FORGOTTEN = 24 * 60 * 60_000;

/** How a service's outbox reaches the broker that BROKER names. */
export function publisherOf(): SagaMessagingModuleOptions {
  const { broker, brokerUrl, lease } = readEnvironment();
  return { transport: transportTo(broker, brokerUrl), relay: { lease } };
}

/** @param prefix of the topics */
export function transportTo(broker: Broker, url: string, prefix = TOPIC_PREFIX): MessageTransport {
  switch (broker) {
    case 'mqtt':
      // MQTT 3.1.1, which the embedded broker speaks.
      return new ClientProxyTransport(new ClientMqtt({ url, protocolVersion: 4 }));
    case 'rabbitmq':
      return new ClientProxyTransport(new ClientRMQ(exchange(url, prefix)));
    case 'nats':
      return new JetStreamTransport({ connection: { servers: url }, stream: streamOf(prefix) });
    case 'kafka':
      return new ClientProxyTransport(
        new ClientKafka({ client: { clientId: prefix, brokers: [url] }, producerOnlyMode: true }),
      );
  }
}

/** How a service takes messages from it, each of which is acknowledged once it was handled. */
export function consumerOf(service: Service): MicroserviceOptions {
  const { broker, brokerUrl: url } = readEnvironment();
  const name = `${TOPIC_PREFIX}-${service}`;
  switch (broker) {
    case 'mqtt':
      return { strategy: new DurableMqttServer(sessionOf(name, url)) };
    case 'rabbitmq':
      return { transport: Transport.RMQ, options: queueOf(name, url) };
    case 'nats':
      return {
        strategy: new JetStreamServer({
          connection: { servers: url },
          stream: streamOf(TOPIC_PREFIX),
          consumer: name,
          messagesAtOnce: MESSAGES_AT_ONCE,
          // What was on its way over a connection that was lost comes again after this time; renewed while it is handled.
          ackWait: '5s',
        }),
      };
    case 'kafka':
      return {
        transport: Transport.KAFKA,
        options: {
          client: { clientId: name, brokers: [url] },
          consumer: { groupId: name },
          // A group that is new has missed nothing.
          subscribe: { fromBeginning: true },
        },
      };
  }
}

/**
 * Resolves once the broker keeps a service's messages, whether the service is there or not. An MQTT server is connected
 * before its subscriptions have arrived; the others have their queues and consumers by then.
 */
export async function untilKept(service: Service, consumer: INestMicroservice): Promise<void> {
  if (readEnvironment().broker !== 'mqtt') return;
  const client = consumer.unwrap<MqttClient>();
  for (;;) {
    try {
      await client.subscribeAsync([...TOPICS_OF[service]], { qos: 1 });
      return;
    } catch {
      // The connection was lost in between.
      await new Promise<void>((resolve) => client.once('connect', () => resolve()));
    }
  }
}

/** With `clean: false` and a name of its own, the broker keeps what comes while the service is away. */
function sessionOf(clientId: string, url: string): NonNullable<MqttOptions['options']> {
  return { url, clientId, clean: false, protocolVersion: 4 };
}

/** One exchange, to which each service's queue is bound by the topics that it handles. */
function exchange(url: string, prefix: string): NonNullable<RmqOptions['options']> {
  return {
    ...{ urls: [url], exchange: prefix, exchangeType: 'topic', wildcards: true },
    socketOptions: { reconnectTimeInSeconds: 1 },
  };
}

function queueOf(queue: string, url: string): NonNullable<RmqOptions['options']> {
  return {
    ...exchange(url, TOPIC_PREFIX),
    queue,
    queueOptions: { durable: true, arguments: { 'x-expires': FORGOTTEN } },
    noAck: false,
    prefetchCount: MESSAGES_AT_ONCE,
  };
}

/** One stream for all topics. */
function streamOf(prefix: string): JetStreamStream {
  return { name: prefix, subjects: [`${prefix}.>`] };
}
