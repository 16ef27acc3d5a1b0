import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers } from '@nats-io/transport-node';
import { JetStreamTransport } from 'nestjs-durable-saga-messaging';

const connection = () => ({ servers: process.env.NATS_URL });
const streamOf = (name) => ({ name, subjects: [name], config: { storage: 'file' } });

export async function reachable() {
  return process.env.NATS_URL !== undefined;
}

export async function prepare(name) {
  const nats = await connect(connection());
  const { streams } = await jetstreamManager(nats);
  await streams.add({ ...streamOf(name).config, name, subjects: [name] });
  await nats.close();
}

/** A plain client: its publish resolves on the server's acknowledgement. */
export async function plainClient(name) {
  const nats = await connect(connection());
  const client = jetstream(nats);
  return {
    send: (id, key, payload) => {
      const native = headers();
      native.set('id', id);
      native.set('key', key);
      native.set('type', 'bench');
      return client.publish(name, JSON.stringify(payload), { msgID: id, headers: native });
    },
    close: () => nats.close(),
  };
}

export function messagingOptions(name) {
  return { transport: new JetStreamTransport({ connection: connection(), stream: streamOf(name) }) };
}

export async function receive(name, count, take) {
  const nats = await connect(connection());
  const { streams, consumers } = await jetstreamManager(nats);
  const durable = 'verify';
  await consumers.add(name, { durable_name: durable, ack_policy: 'none' });
  const messages = await (
    await jetstream(nats).consumers.get(name, durable)
  ).consume({ max_messages: 1_000 });
  let received = 0;
  for await (const message of messages) {
    take(message.json());
    if ((received += 1) >= count) break;
  }
  await streams.delete(name);
  await nats.close();
}
