import { type ClientNats, NatsRecordBuilder } from '@nestjs/microservices';
import type { RelayedMessage } from '../relay/message-transport.js';
import type { ClientSender } from './client-sender.js';
import { emitted } from './emitted.js';
import { loadNats, type NatsHeaders } from './nats-packages.js';

/** The part of NATS's connection that is used. */
interface Connection {
  flush(): Promise<void>;
}

/**
 * Sends over core NATS. The client confirms once it has written to its buffer. So a flush asks the server to confirm,
 * once for all messages that are sent at a time. After it, the server has received the messages and passed them to the
 * subscribers.
 */
export class NatsSender implements ClientSender {
  private flushed: Promise<void> | undefined;

  constructor(private readonly client: ClientNats) {}

  async send({ topic, payload, headers }: RelayedMessage): Promise<void> {
    const { headers: newHeaders } = await loadNats();
    const native: NatsHeaders = newHeaders();
    for (const [name, value] of Object.entries(headers)) native.set(name, value);
    const record = new NatsRecordBuilder(JSON.parse(payload) as unknown).setHeaders(native).build();
    await emitted(this.client, topic, record);
    this.flushed ??= Promise.resolve().then(() => {
      this.flushed = undefined;
      return this.client.unwrap<Connection>().flush();
    });
    await this.flushed;
  }
}
