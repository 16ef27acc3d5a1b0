import {
  type ClientKafka,
  type ClientMqtt,
  type ClientNats,
  type ClientRMQ,
  MqttRecordBuilder,
  NatsRecordBuilder,
  RmqRecordBuilder,
} from '@nestjs/microservices';
import { setImmediate } from 'node:timers/promises';
import { lastValueFrom, type Observable } from 'rxjs';
import { MessageRefusedError } from 'nestjs-durable-saga';
import type { MessageTransport, RelayedMessage } from '../relay/message-transport.js';
import { envelopeOf } from './envelope.js';
import { nativeHeaders } from './nats-packages.js';

/** How messages are sent by one kind of client. */
export type ClientSender = Pick<MessageTransport, 'send'>;

/** The used methods of a client of `@nestjs/microservices`. Any `ClientProxy` has them. */
export interface EventClient {
  /** Emits an event. The observable completes when the event was handed to the broker. */
  emit(pattern: string, data: unknown): Observable<unknown>;
  /** Closes the client when the application stops. */
  close(): unknown;
}

/** Resolves as soon as the client says that the event was handed over. */
export async function emitted(client: EventClient, topic: string, data: unknown): Promise<void> {
  await lastValueFrom(client.emit(topic, data), { defaultValue: undefined });
}

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
    const native = await nativeHeaders(headers);
    const record = new NatsRecordBuilder(JSON.parse(payload) as unknown).setHeaders(native).build();
    await emitted(this.client, topic, record);
    this.flushed ??= Promise.resolve().then(() => {
      this.flushed = undefined;
      return this.client.unwrap<Connection>().flush();
    });
    await this.flushed;
  }
}

/** Any other client: an envelope, emitted. */
export class EnvelopeSender implements ClientSender {
  constructor(private readonly client: EventClient) {}

  async send(message: RelayedMessage): Promise<void> {
    await emitted(this.client, message.topic, envelopeOf(message));
  }
}

/** The part of amqplib's channel that is listened to. */
interface Channel {
  on(event: 'return', listener: (message: ReturnedMessage) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

interface ReturnedMessage {
  readonly fields: { readonly replyCode?: number; readonly replyText?: string };
  readonly properties: { readonly messageId?: unknown };
}

/** That of amqp-connection-manager, which survives lost connections and makes a new channel on each. */
interface ChannelWrapper {
  addSetup(setup: (channel: Channel) => void): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

interface ConnectionManager {
  isConnected(): boolean;
  reconnect(): void;
  on(event: 'connect' | 'connectFailed', listener: () => void): this;
  off(event: 'connect' | 'connectFailed', listener: () => void): this;
}

/**
 * RabbitMQ, with publisher confirms: Nest's client has confirm channels (amqp-connection-manager's default), and resolves
 * on the broker's confirm. What no queue takes is returned before that (`mandatory`), which is a refusal.
 */
export class RmqSender implements ClientSender {
  private listensTo: ChannelWrapper | undefined;
  /** What a message waits for before it is sent: that the channel is listened to, and later that it is made anew. */
  private listening: Promise<void> | undefined;
  private readonly returned = new Map<string, string>();

  constructor(private readonly client: ClientRMQ) {
    this.surviveErrors();
  }

  async send({ id, type, topic, payload, headers }: RelayedMessage): Promise<void> {
    await this.listen();
    const record = new RmqRecordBuilder(JSON.parse(payload) as unknown).setOptions({
      ...{ persistent: true, mandatory: true, messageId: id, type, contentType: 'application/json' },
      headers: { ...headers },
    });
    try {
      await emitted(this.client, topic, record.build());
    } catch (error) {
      if (!/nack/i.test((error as Error | undefined)?.message ?? '')) throw error;
      throw new MessageRefusedError(`RabbitMQ refused message ${id}: ${(error as Error).message}.`, {
        cause: error,
      });
    }
    const reason = this.returned.get(id);
    if (reason === undefined) return;
    this.returned.delete(id);
    throw new MessageRefusedError(
      `RabbitMQ returned message ${id}: ${reason}. No queue receives messages of '${topic}'. Declare the queue, or bind one.`,
    );
  }

  /** A client that could not connect begins anew with another channel. */
  private async listen(): Promise<void> {
    if (this.channel !== undefined && this.channel === this.listensTo) return this.listening;
    await this.client.connect();
    const { channel } = this;
    if (channel === undefined || channel === this.listensTo) return this.listening;
    this.listensTo = channel;
    this.listening = channel.addSetup((plain) => {
      plain.on('return', ({ fields, properties }) => {
        if (typeof properties.messageId === 'string')
          this.returned.set(properties.messageId, `${fields.replyText ?? ''} (${fields.replyCode ?? '?'})`);
      });
      // The server closes a channel for good when it refuses what was asked on it, and amqp-connection-manager waits for
      // another connection to make a new one.
      plain.on('error', () => {
        if (this.listensTo === channel) this.listening = this.reconnect(channel).catch(() => undefined);
      });
    });
    await this.listening;
  }

  /**
   * Handles the error of a connection that is lost while a channel is set up. The channel is then set up again. Nest's
   * client has no listener for it, so that it would end the process. At first it raises two of them.
   */
  private surviveErrors(): void {
    const client = this.client as unknown as { createChannel(): Promise<void> };
    const create = client.createChannel.bind(client);
    client.createChannel = () => {
      const made = create();
      this.channel?.on('error', () => undefined);
      return made;
    };
  }

  /**
   * Connects again. What is sent meanwhile waits for the new connection, because Nest's client rejects it until it has
   * one.
   *
   * @throws Error if the client is being closed
   */
  private async reconnect(channel: ChannelWrapper): Promise<void> {
    // The channel has to be closed before, or closing the connection closes it once more.
    await setImmediate();
    // Closed meanwhile, or the connection is lost: it is made again at a later time.
    if (this.channel !== channel) return;
    const manager = this.client.unwrap<ConnectionManager>();
    if (!manager.isConnected()) return;
    const ended = new Promise<void>((resolve) => {
      const end = () => {
        manager.off('connect', end).off('connectFailed', end);
        resolve();
      };
      manager.on('connect', end).on('connectFailed', end);
    });
    manager.reconnect();
    await ended;
  }

  /** Protected in Nest's client, which has nothing else to listen to. */
  private get channel(): ChannelWrapper | undefined {
    return (this.client as unknown as { channel?: ChannelWrapper | null }).channel ?? undefined;
  }
}
