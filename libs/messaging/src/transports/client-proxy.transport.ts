import { ClientKafka, ClientMqtt, ClientNats, ClientRMQ } from '@nestjs/microservices';
import { kind, readOptions, withDefault } from 'nestjs-durable-saga/internal';
import type { MessageTransport, RelayedMessage } from '../relay/message-transport.js';
import {
  type ClientSender,
  EnvelopeSender,
  type EventClient,
  KafkaSender,
  MqttSender,
  NatsSender,
  RmqSender,
} from './client-senders.js';

const OPTIONS = { close: withDefault(kind.flag, true) };

/**
 * Sends messages through a client of `@nestjs/microservices`:
 *
 * - `ClientRMQ`: persistent, with publisher confirms. A message that no queue receives is rejected. Headers are native.
 * - `ClientKafka`: the message's key is the record's key. Acknowledged by the brokers (`acks`). Headers are native.
 * - `ClientMqtt`: with QoS 1, acknowledged. MQTT 5: headers are user properties. MQTT 3.1.1: an envelope.
 * - `ClientNats`: core NATS stores nothing, and offline receivers miss messages. Use `JetStreamTransport`. Native
 * headers.
 * - `ClientRedis`: publish/subscribe stores nothing either. An envelope.
 * - any other: an envelope `{ id, type, key, headers, payload }`, emitted.
 *
 * Handlers in Nest applications receive the messages with `@DurableEvent(topic)`.
 */
export class ClientProxyTransport implements MessageTransport {
  private readonly sender: ClientSender;
  private readonly closes: boolean;

  constructor(
    private readonly client: EventClient,
    /** Close the client when the application stops; default true. */
    options: { readonly close?: boolean } = {},
  ) {
    this.closes = readOptions('ClientProxyTransport', OPTIONS, options).close;
    this.sender = senderOf(client);
  }

  send(message: RelayedMessage): Promise<void> {
    return this.sender.send(message);
  }

  async close(): Promise<void> {
    if (this.closes) await this.client.close();
  }
}

function senderOf(client: EventClient): ClientSender {
  if (client instanceof ClientRMQ) return new RmqSender(client);
  if (client instanceof ClientKafka) return new KafkaSender(client);
  if (client instanceof ClientMqtt) return new MqttSender(client);
  if (client instanceof ClientNats) return new NatsSender(client);
  return new EnvelopeSender(client);
}
