import type { MqttContext } from '@nestjs/microservices';
import { type MqttOptions, ServerMqtt } from '@nestjs/microservices';
import { runHandler } from './run-handler.js';

/** The part of mqtt.js that is used. */
interface MqttClient {
  handleMessage(packet: object, callback: (error?: Error) => void): void;
  on(event: 'close', listener: () => void): unknown;
}

/** Waits (ms) before a handler that failed is called again. */
const AGAIN_FIRST = 200;
const AGAIN_LONGEST = 30_000;

/**
 * An MQTT server that acknowledges a message (QoS 1) after its handlers have resolved. With a unique `clientId` and
 * `clean: false`, the broker keeps messages while the process is down: `{ strategy: new DurableMqttServer({ url,
 * clientId: 'payments', clean: false, protocolVersion: 5 }) }`.
 *
 * MQTT has no redelivery on request, so a failed handler is called again until it succeeds, and messages are handled
 * one after another. To handle several at once, run several processes with shared subscriptions (`$share/…`).
 */
export class DurableMqttServer extends ServerMqtt {
  override readonly propagatesEventHandlerErrors = true;
  /** Messages whose handlers have not resolved yet. */
  private readonly inProgress = new WeakMap<object, Promise<void>>();
  /** The number of lost connections. */
  private losses = 0;
  private closed = false;

  constructor(options: NonNullable<MqttOptions['options']>) {
    // Early versions of Nest 11 pass over what `@DurableEvent` asks for, and what is subscribed to with QoS 0 gets lost.
    super({ ...options, subscribeOptions: { qos: 1, ...options.subscribeOptions } });
  }

  /** @hidden */
  override bindEvents(mqttClient: unknown): void {
    const client = mqttClient as MqttClient;
    // mqtt.js emits the message first, and sends PUBACK after this callback.
    client.handleMessage = (packet, acknowledge) => {
      void (this.inProgress.get(packet) ?? Promise.resolve()).then(
        () => acknowledge(),
        // The connection is gone: the broker delivers it again.
        () => undefined,
      );
    };
    client.on('close', () => (this.losses += 1));
    super.bindEvents(mqttClient);
  }

  /** @hidden */
  override getMessageHandler(pub: unknown) {
    return (topic: string, payload: Buffer, packet: object = {}): Promise<void> => {
      const handled = this.untilHandled(pub as MqttClient, topic, payload, packet);
      this.inProgress.set(packet, handled);
      return handled.catch(() => undefined);
    };
  }

  /** @hidden */
  override close(): void {
    this.closed = true;
    super.close();
  }

  private async untilHandled(
    client: MqttClient,
    topic: string,
    payload: Buffer,
    packet: object,
  ): Promise<void> {
    const before = this.losses;
    const givenUp = () => this.closed || this.losses > before;
    for (let wait = AGAIN_FIRST; ; wait = Math.min(AGAIN_LONGEST, wait * 2)) {
      try {
        await Promise.resolve<unknown>(this.handleMessage(topic, payload, client, packet));
        return;
      } catch (error) {
        if (givenUp()) throw error;
        this.logger.error(`Handling a message of '${topic}' failed; the next attempt is in ${wait} ms`);
        await new Promise((resolve) => setTimeout(resolve, wait).unref());
        if (givenUp()) throw error;
      }
    }
  }

  /** @hidden */
  override async handleEvent(topic: string, packet: { data: unknown }, context: MqttContext): Promise<void> {
    const handler = this.getHandlerByPattern(topic);
    if (!handler) return void this.logger.error(`No handler is registered for '${topic}'`);
    await runHandler(handler as never, packet.data, context, this);
  }
}
