import { randomBytes, randomUUID } from 'node:crypto';
import { Controller } from '@nestjs/common';
import { type ClientRMQ, ClientProxyFactory, type RmqOptions, Transport } from '@nestjs/microservices';
import amqp, { type Channel } from 'amqplib';
import {
  ClientProxyTransport,
  DurableEvent,
  Incoming,
  type IncomingMessage,
  type RelayedMessage,
} from '../../libs/messaging/src/index.js';
import { until } from '../support/gate.js';
import { reachRabbit } from './support/brokers.js';
import { MessagingApps } from './support/messaging-apps.js';

const url = await reachRabbit();
const tested = url === undefined ? describe.skip : describe;
if (url === undefined) test('RabbitMQ cannot be reached: skipped; give RABBITMQ_URL', () => undefined);

const apps = MessagingApps.onOwnDatabase();
const name = () => `test-${randomBytes(6).toString('hex')}`;
const message = (n: number): RelayedMessage => ({
  ...{ id: randomUUID(), topic: 'orders', key: `k${n}`, type: 'orders', payload: String(n), headers: {} },
});
const clientOf = (options: RmqOptions['options']) =>
  ClientProxyFactory.create({ transport: Transport.RMQ, options: { urls: [url!], ...options } }) as ClientRMQ;

const received: IncomingMessage[] = [];

@Controller()
class Listener {
  @DurableEvent('orders.placed')
  placed(@Incoming() message: IncomingMessage): void {
    received.push(message);
  }
}

tested('RabbitMQ', () => {
  let connection: Awaited<ReturnType<typeof amqp.connect>>;
  let channel: Channel;
  beforeAll(async () => {
    connection = await amqp.connect(url!);
    channel = await connection.createChannel();
  });
  afterAll(() => connection.close());

  test('has a message once send() has resolved: it is confirmed, persistent, and told by its id', async () => {
    const queue = name();
    const transport = new ClientProxyTransport(clientOf({ queue, queueOptions: { durable: true } }));
    const sent = message(1);
    await transport.send(sent);
    const got = await channel.get(queue, { noAck: true });
    expect(got && got.properties).toMatchObject({ deliveryMode: 2, messageId: sent.id });
    await transport.close();
    await channel.deleteQueue(queue);
  });

  test('refuses what a full queue rejects (a negative confirm)', async () => {
    const queue = name();
    const queueOptions = {
      ...{ durable: true, arguments: { 'x-max-length': 1, 'x-overflow': 'reject-publish' } },
    };
    const transport = new ClientProxyTransport(clientOf({ queue, queueOptions }));
    await transport.send(message(1));
    await expect(transport.send(message(2))).rejects.toMatchObject({ code: 'SAGA_MESSAGE_REFUSED' });
    await channel.purgeQueue(queue);
    await transport.send(message(3));
    await transport.close();
    await channel.deleteQueue(queue);
  });

  test('refuses what no queue takes, and takes it once one does', async () => {
    const [exchange, queue] = [name(), name()];
    const transport = new ClientProxyTransport(
      clientOf({ exchange, exchangeType: 'topic', wildcards: true, queue }),
    );
    await expect(transport.send(message(1))).rejects.toMatchObject({ code: 'SAGA_MESSAGE_REFUSED' });
    await channel.assertQueue(queue);
    await channel.bindQueue(queue, exchange, 'orders');
    await transport.send(message(1));
    expect(await channel.checkQueue(queue)).toMatchObject({ messageCount: 1 });
    await transport.close();
    await channel.deleteQueue(queue);
    await channel.deleteExchange(exchange);
  });

  test('that closes the channel is asked again on a new one', async () => {
    const exchange = name();
    const client = clientOf({ exchange, exchangeType: 'topic', wildcards: true });
    const transport = new ClientProxyTransport(client);
    await expect(transport.send(message(1))).rejects.toMatchObject({ code: 'SAGA_MESSAGE_REFUSED' });
    await channel.deleteExchange(exchange);
    const betweenConnections = new Promise<void>((resolve) => {
      client.on('disconnect', () => resolve(transport.send(message(4))));
    });
    const alsoRefused = expect(betweenConnections).rejects.toMatchObject({ code: 'SAGA_MESSAGE_REFUSED' });
    // Publishing to an exchange that is gone is an error of the channel.
    await expect(transport.send(message(2))).rejects.toThrow();
    await alsoRefused;
    await expect(transport.send(message(3))).rejects.toMatchObject({ code: 'SAGA_MESSAGE_REFUSED' });
    await transport.close();
    await channel.deleteExchange(exchange);
  });

  test('with an exchange delivers messages to every service that binds a queue for its handlers', async () => {
    const [exchange, queue] = [name(), name()];
    const topics = { urls: [url!], exchange, exchangeType: 'topic' as const, wildcards: true };
    const app = await apps.start({
      messaging: { client: clientOf(topics) },
      controllers: [Listener],
      microservice: {
        transport: Transport.RMQ,
        options: { ...topics, queue, queueOptions: { durable: true }, noAck: false },
      },
    });
    await app.dataSource.transaction((manager) =>
      app.outbox.publish(manager, { topic: 'orders.placed', payload: 1 }),
    );
    await until(() => received.length > 0);
    await app.close();
    expect(await channel.checkQueue(queue)).toMatchObject({ messageCount: 0 });
    await channel.deleteQueue(queue);
    await channel.deleteExchange(exchange);
  });
});
