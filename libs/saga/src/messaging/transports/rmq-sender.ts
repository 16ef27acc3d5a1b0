import { setImmediate } from 'node:timers/promises';
import { type ClientRMQ, RmqRecordBuilder } from '@nestjs/microservices';
import { MessageRefusedError } from '../../errors.js';
import type { RelayedMessage } from '../relay/message-transport.js';
import type { ClientSender } from './client-sender.js';
import { emitted } from './emitted.js';

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
