import { setTimeout as sleep } from 'node:timers/promises';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import type { Duration } from 'nestjs-durable-saga';
import {
  LONGEST_TIMER,
  type OptionTable,
  type OptionsRead,
  kind,
  optional,
  readOptions,
  required,
  serializeError,
  withDefault,
} from 'nestjs-durable-saga/internal';
import {
  type ConsumerMessages,
  ensureStream,
  ifMissing,
  type JetStreamManager,
  type JetStreamMessage,
  type JetStreamStream,
  loadJetStream,
  loadNats,
  type NatsConnection,
  type NatsConnectionOptions,
  STREAM,
} from '../transports/nats-packages.js';
import { handlersDelays, JetStreamContext } from './jetstream.context.js';
import { runHandler } from './run-handler.js';

/** Options of `JetStreamServer`. */
export interface JetStreamServerOptions {
  /** The connection, as in `connect` of `@nats-io/transport-node`. Default: `localhost:4222`. */
  readonly connection?: NatsConnectionOptions;
  /** The stream, which is created if it does not exist. */
  readonly stream: JetStreamStream;
  /**
   * The name of the durable consumer. Processes that share the name share the messages: each message goes to one of
   * them.
   */
  readonly consumer: string;
  /**
   * The number of messages that this process handles at once, a whole number from 1. With 1, messages are handled in the
   * order of the stream, one at a time over all processes that share the consumer. Default: 100.
   */
  readonly messagesAtOnce?: number;
  /**
   * The time without acknowledgement after which a message is redelivered. The server renews it while the message is
   * handled. Default: `'30s'`.
   */
  readonly ackWait?: Duration;
  /** The delay before a message whose handler failed is redelivered, if the handler has none of its own. Default: `'1s'`. */
  readonly redeliverAfter?: Duration;
  /** Further settings of the consumer, as in `consumers.add` of `@nats-io/jetstream`. Default: the server's. */
  readonly consumerConfig?: object;
}

const OPTIONS = {
  connection: optional(kind.anything<NatsConnectionOptions>()),
  stream: required(STREAM),
  consumer: required(kind.text),
  messagesAtOnce: withDefault(kind.count(), 100),
  ackWait: withDefault(kind.duration({ longest: LONGEST_TIMER }), '30s'),
  redeliverAfter: withDefault(kind.duration({ longest: LONGEST_TIMER }), '1s'),
  consumerConfig: optional(kind.anything<object>()),
} satisfies OptionTable<JetStreamServerOptions>;
const RETRY = 1_000;
const NANOSECONDS = 1_000_000;
/** Messages that are not acknowledged yet, over all processes: the server's default. */
const PENDING = 1_000;

/**
 * A transport strategy for NATS JetStream: `app.connectMicroservice({ strategy: new JetStreamServer({ … }) })`. A
 * durable pull consumer of the stream receives the messages for the application's event handlers. A message is
 * acknowledged after its handlers have resolved, and redelivered after a handler has failed. Requires
 * `@nats-io/transport-node` and `@nats-io/jetstream`.
 */
export class JetStreamServer extends Server implements CustomTransportStrategy {
  override readonly transportId = Symbol.for('nestjs-durable-saga:jetstream');
  /** Prevents Nest from logging a failure that this server handles. */
  override readonly propagatesEventHandlerErrors = true;
  private readonly settings: OptionsRead<typeof OPTIONS>;
  private connection: NatsConnection | undefined;
  private messages: ConsumerMessages | undefined;
  private readonly inProgress = new Set<Promise<void>>();
  /** Whether the server filters out messages without a handler. */
  private filters = true;
  private readonly closing = new AbortController();

  /** @throws SagaValidationError for invalid options */
  constructor(options: JetStreamServerOptions) {
    super();
    this.settings = readOptions('JetStreamServer', OPTIONS, options);
  }

  async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      const [{ connect }, { jetstreamManager }] = await Promise.all([loadNats(), loadJetStream()]);
      this.connection = await connect({ maxReconnectAttempts: -1, ...this.settings.connection });
      const manager = await jetstreamManager(this.connection);
      await ensureStream(manager, this.settings.stream);
      await this.ensureConsumer(manager);
      void this.consume();
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Waits for running handlers, and closes the connection. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.messages?.close();
    await Promise.all(this.inProgress);
    await this.drain();
  }

  /** The client rejects this call for a connection that is closed: by the application, or because it is lost for good. */
  private async drain(): Promise<void> {
    const { connection } = this;
    if (!connection || connection.isClosed()) return;
    await connection.drain();
  }

  on(): never {
    throw new Error(
      'JetStreamServer has no events. Use unwrap(), which returns the connection, and its status().',
    );
  }

  unwrap<T>(): T {
    if (!this.connection)
      throw new Error('JetStreamServer is not connected yet. Call unwrap() after the server listens.');
    return this.connection as T;
  }

  private async ensureConsumer(manager: JetStreamManager): Promise<void> {
    const subjects = [...this.messageHandlers.keys()];
    const [only] = subjects;
    const filter = subjects.length === 1 ? { filter_subject: only } : { filter_subjects: subjects };
    try {
      await this.makeConsumer(manager, filter);
    } catch (error) {
      // Servers before 2.10 support one subject or all. Messages without a handler are acknowledged here.
      if (subjects.length === 1 || !/filter_subjects/.test((error as Error).message)) throw error;
      await this.makeConsumer(manager, {});
      this.filters = false;
    }
  }

  private async makeConsumer(manager: JetStreamManager, filter: object): Promise<void> {
    const { stream, consumer, consumerConfig, messagesAtOnce, ackWait } = this.settings;
    // A message that is to be redelivered counts, so that none is handled before it.
    const max_ack_pending = messagesAtOnce === 1 ? 1 : PENDING;
    const config = { max_ack_pending, ...consumerConfig, ...filter, ack_wait: ackWait * NANOSECONDS };
    const there = await manager.consumers.info(stream.name, consumer).catch(ifMissing);
    if (there) return void (await manager.consumers.update(stream.name, consumer, config));
    await manager.consumers.add(stream.name, {
      ...{ durable_name: consumer, ack_policy: 'explicit', deliver_policy: 'all' },
      ...config,
    });
  }

  private async consume(): Promise<void> {
    const { jetstream } = await loadJetStream();
    const { stream, consumer } = this.settings;
    const { signal } = this.closing;
    while (!signal.aborted) {
      try {
        const client = jetstream(this.connection!);
        const source = await client.consumers.get(stream.name, consumer);
        this.messages = await source.consume({ max_messages: this.settings.messagesAtOnce });
        for await (const message of this.messages) {
          const handled: Promise<void> = this.handle(message).finally(() => this.inProgress.delete(handled));
          this.inProgress.add(handled);
          if (this.inProgress.size >= this.settings.messagesAtOnce) await Promise.race(this.inProgress);
        }
      } catch (error) {
        if (!signal.aborted)
          this.logger.error(`Consuming '${stream.name}' failed: ${serializeError(error).message}`);
      }
      await sleep(RETRY, undefined, { signal }).catch(() => undefined);
    }
  }

  private async handle(message: JetStreamMessage): Promise<void> {
    const working = setInterval(
      () => this.answer(message, () => message.working()),
      this.settings.ackWait / 2,
    );
    let answer = () => message.ack();
    const context = new JetStreamContext([message]);
    try {
      await this.runHandlers(message, context);
    } catch (error) {
      const { message: reason, stack } = serializeError(error);
      this.logger.error(
        `Handling a message of '${message.subject}' failed; JetStream redelivers it: ${reason}`,
        stack,
      );
      answer = () => message.nak(handlersDelays.get(context) ?? this.settings.redeliverAfter);
    } finally {
      clearInterval(working);
    }
    this.answer(message, answer);
  }

  /** If the client cannot send the answer, the server delivers the message again after `ackWait`. */
  private answer(message: JetStreamMessage, answer: () => void): void {
    try {
      answer();
    } catch (error) {
      if (this.closing.signal.aborted) return;
      this.logger.warn(
        `A message of '${message.subject}' could not be acknowledged; JetStream redelivers it: ${serializeError(error).message}`,
      );
    }
  }

  private async runHandlers(message: JetStreamMessage, context: JetStreamContext): Promise<void> {
    const handler = this.handlerOf(message.subject);
    if (!handler && !this.filters) return;
    if (!handler) throw new Error(`No handler is registered for '${message.subject}'`);
    await runHandler(handler as never, dataOf(message), context, this);
  }

  private handlerOf(subject: string) {
    const exact = this.getHandlerByPattern(subject);
    if (exact) return exact;
    for (const [pattern, handler] of this.messageHandlers) if (matches(pattern, subject)) return handler;
    return undefined;
  }
}

function dataOf({ data }: JetStreamMessage): unknown {
  const text = Buffer.from(data).toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** NATS's wildcards: `*` is one token, `>` is all that follow. */
function matches(pattern: string, subject: string): boolean {
  const tokens = subject.split('.');
  for (const [n, wanted] of pattern.split('.').entries()) {
    if (wanted === '>') return tokens.length > n;
    if (tokens[n] === undefined || (wanted !== '*' && wanted !== tokens[n])) return false;
  }
  return pattern.split('.').length === tokens.length;
}
