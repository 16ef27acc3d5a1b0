import amqp from 'amqplib';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';

const url = process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672';
const DURABLE = { durable: true };

export async function reachable() {
  try {
    const connection = await amqp.connect(url, { timeout: 2_000 });
    await connection.close();
    return true;
  } catch {
    return false;
  }
}

export async function prepare(queue) {
  const connection = await amqp.connect(url);
  const channel = await connection.createChannel();
  await channel.assertQueue(queue, DURABLE);
  await channel.purgeQueue(queue);
  await connection.close();
}

/** A plain client: one confirm channel. */
export async function plainClient(queue) {
  const connection = await amqp.connect(url);
  const channel = await connection.createConfirmChannel();
  return {
    send: (id, key, payload) =>
      new Promise((resolve, reject) =>
        channel.sendToQueue(
          queue,
          Buffer.from(JSON.stringify({ pattern: 'bench', data: payload })),
          {
            persistent: true,
            messageId: id,
            contentType: 'application/json',
            headers: { id, key, type: 'bench' },
          },
          (error) => (error ? reject(error) : resolve()),
        ),
      ),
    close: () => connection.close(),
  };
}

export function messagingOptions(queue) {
  const options = { urls: [url], queue, queueOptions: DURABLE };
  return { client: ClientProxyFactory.create({ transport: Transport.RMQ, options }) };
}

export async function receive(queue, count, take) {
  const connection = await amqp.connect(url);
  const channel = await connection.createChannel();
  await channel.prefetch(1_000);
  await new Promise((resolve, reject) => {
    let received = 0;
    const late = setTimeout(() => reject(new Error(`only ${received} of ${count} arrived`)), 60_000);
    void channel.consume(queue, (message) => {
      try {
        take(JSON.parse(message.content.toString()).data);
      } catch (error) {
        return reject(error);
      }
      channel.ack(message);
      if ((received += 1) >= count) resolve(clearTimeout(late));
    });
  });
  await channel.purgeQueue(queue);
  await channel.deleteQueue(queue);
  await connection.close();
}
