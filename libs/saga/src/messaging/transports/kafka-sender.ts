import type { ClientKafka } from '@nestjs/microservices';
import { MessageRefusedError } from '../../errors.js';
import type { RelayedMessage } from '../relay/message-transport.js';
import type { ClientSender } from './client-sender.js';
import { emitted } from './emitted.js';

/** Errors of the protocol that are about the message, not about the brokers. */
const REFUSALS = ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'INVALID_TOPIC_EXCEPTION'];

/** A record with the message's key, so that its partition keeps the order; resolves on the brokers' acknowledgement. */
export class KafkaSender implements ClientSender {
  constructor(private readonly client: ClientKafka) {}

  async send({ id, topic, key, payload, headers }: RelayedMessage): Promise<void> {
    try {
      await emitted(this.client, topic, { key, value: payload, headers });
    } catch (error) {
      const { type, message } = error as { type?: string; message?: string };
      if (!REFUSALS.includes(type ?? '')) throw error;
      throw new MessageRefusedError(`Kafka refused message ${id}: ${message} (${type}).`, { cause: error });
    }
  }
}
