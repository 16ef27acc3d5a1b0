import { type ClientMqtt, MqttRecordBuilder } from '@nestjs/microservices';
import type { RelayedMessage } from '../relay/message-transport.js';
import type { ClientSender } from './client-sender.js';
import { emitted } from './emitted.js';
import { envelopeOf } from './envelope.js';

/** The part of mqtt's client that is looked at. */
interface MqttClient {
  readonly options: { readonly protocolVersion?: number };
}

/** QoS 1: mqtt.js calls back on the broker's PUBACK. */
export class MqttSender implements ClientSender {
  private connected: Promise<unknown> | undefined;

  constructor(private readonly client: ClientMqtt) {}

  async send(message: RelayedMessage): Promise<void> {
    this.connected ??= this.client.connect().catch((error: unknown) => {
      this.connected = undefined;
      throw error;
    });
    await this.connected;
    const record = this.hasProperties()
      ? new MqttRecordBuilder(JSON.parse(message.payload) as unknown).setProperties({
          userProperties: message.headers,
        })
      : new MqttRecordBuilder<unknown>(envelopeOf(message));
    await emitted(this.client, message.topic, record.setQoS(1).build());
  }

  private hasProperties(): boolean {
    return this.client.unwrap<MqttClient>().options.protocolVersion === 5;
  }
}
