import { MessageRefusedError } from 'nestjs-durable-saga';
import { type OptionTable, kind, optional, readOptions } from 'nestjs-durable-saga/internal';
import type { MessageTransport, RelayedMessage } from '../relay/message-transport.js';
import {
  ensureStream,
  type JetStreamClient,
  type JetStreamStream,
  loadJetStream,
  loadNats,
  nativeHeaders,
  type NatsConnection,
  type NatsConnectionOptions,
  STREAM,
} from './nats-packages.js';

/** Options of `JetStreamTransport`. */
export interface JetStreamTransportOptions {
  /** The connection, as in `connect` of `@nats-io/transport-node`. Default: `localhost:4222`. */
  readonly connection?: NatsConnectionOptions;
  /** The stream that stores the messages, which is created if it does not exist. Default: none, a stream must exist. */
  readonly stream?: JetStreamStream;
}

const OPTIONS = {
  connection: optional(kind.anything<NatsConnectionOptions>()),
  stream: optional(STREAM),
} satisfies OptionTable<JetStreamTransportOptions>;

/** Error codes of JetStream that are about the message: larger than the stream takes, or than the account may send. */
const REFUSALS = [10054, 10097];

/**
 * Sends messages to NATS JetStream. The topic is the subject, the payload is the message's data (JSON), headers are
 * native, and the message's id is `Nats-Msg-Id`, so that a message that is sent twice within the stream's duplicate
 * window is stored once. Requires `@nats-io/transport-node` and `@nats-io/jetstream`.
 */
export class JetStreamTransport implements MessageTransport {
  private connected: Promise<{ connection: NatsConnection; client: JetStreamClient }> | undefined;

  private readonly options: JetStreamTransportOptions;

  /** @throws SagaValidationError for an unknown option */
  constructor(options: JetStreamTransportOptions = {}) {
    this.options = readOptions('JetStreamTransport', OPTIONS, options);
  }

  async send({ id, topic, payload, headers }: RelayedMessage): Promise<void> {
    const { client } = await this.connect();
    const native = await nativeHeaders(headers);
    try {
      await client.publish(topic, payload, { msgID: id, headers: native });
    } catch (error) {
      const { code, message = '' } = error as { code?: unknown; message?: string };
      if (!REFUSALS.includes(code as number) && !/max_payload|maximum payload/i.test(message)) throw error;
      throw new MessageRefusedError(`JetStream refused message ${id}: ${message}.`, { cause: error });
    }
  }

  async close(): Promise<void> {
    const { connected } = this;
    this.connected = undefined;
    await connected?.then(
      ({ connection }) => connection.close(),
      () => undefined,
    );
  }

  private async connect() {
    for (;;) {
      const connected = (this.connected ??= this.open());
      try {
        const open = await connected;
        if (!open.connection.isClosed()) return open;
      } catch (error) {
        if (this.connected === connected) this.connected = undefined;
        throw error;
      }
      // The application closed it.
      if (this.connected === connected) this.connected = undefined;
    }
  }

  private async open() {
    const [{ connect }, { jetstream, jetstreamManager }] = await Promise.all([loadNats(), loadJetStream()]);
    const connection = await connect({ maxReconnectAttempts: -1, ...this.options.connection });
    try {
      if (this.options.stream) await ensureStream(await jetstreamManager(connection), this.options.stream);
    } catch (error) {
      await connection.close();
      throw error;
    }
    return { connection, client: jetstream(connection) };
  }
}
