import { SagaConfigurationError } from 'nestjs-durable-saga';
import { type OptionTable, kind, optional, required } from 'nestjs-durable-saga/internal';

/** The used methods of NATS headers. They are declared by structure, so that the types of NATS are not required. */
export interface NatsHeaders {
  /** Sets a header. */
  set(name: string, value: string): void;
  /** Returns a header, or an empty string if there is none. */
  get(name: string): string;
  /** Returns the names of all headers. */
  keys(): string[];
}

export interface NatsConnection {
  drain(): Promise<void>;
  close(): Promise<void>;
  isClosed(): boolean;
  flush(): Promise<void>;
}

/** Options of a connection, as in `connect` of `@nats-io/transport-node`. */
export interface NatsConnectionOptions {
  /** `host:port`, or several. Default: `localhost:4222`. */
  readonly servers?: string | string[];
  /** The user. Default: none. */
  readonly user?: string;
  /** The password of `user`. Default: none. */
  readonly pass?: string;
  /** A token, instead of user and password. Default: none. */
  readonly token?: string;
  readonly [option: string]: unknown;
}

interface NatsPackage {
  readonly connect: (options: object) => Promise<NatsConnection>;
  readonly headers: () => NatsHeaders;
}

/** The used members of a JetStream message. */
export interface JetStreamMessage {
  /** The subject of the message. */
  readonly subject: string;
  /** The headers. Absent if there are none. */
  readonly headers?: NatsHeaders;
  /** The payload: JSON as bytes. */
  readonly data: Uint8Array;
  /** Delivery data. `deliveryCount` includes the first delivery. */
  readonly info: { readonly deliveryCount: number };
  /** Acknowledges the message. */
  ack(): void;
  /** Acknowledges the message, and waits for the server's confirmation. */
  ackAck(): Promise<boolean>;
  /** Requests redelivery after a delay in milliseconds. */
  nak(ms?: number): void;
  /** Extends the time until redelivery. */
  working(): void;
}

export interface ConsumerMessages extends AsyncIterable<JetStreamMessage> {
  close(): Promise<void | Error>;
  status(): AsyncIterable<{ readonly type: string }>;
}

export interface JetStreamClient {
  publish(
    subject: string,
    payload: string,
    options: { msgID: string; headers: NatsHeaders; timeout?: number },
  ): Promise<unknown>;
  readonly consumers: {
    get(
      stream: string,
      consumer: string,
    ): Promise<{ consume(options: { max_messages: number }): Promise<ConsumerMessages> }>;
  };
}

export interface JetStreamManager {
  readonly streams: {
    info(stream: string): Promise<{ config: { subjects: string[] } }>;
    add(config: object): Promise<unknown>;
    update(stream: string, config: object): Promise<unknown>;
  };
  readonly consumers: {
    info(stream: string, consumer: string): Promise<unknown>;
    add(stream: string, config: object): Promise<unknown>;
    update(stream: string, consumer: string, config: object): Promise<unknown>;
  };
}

interface JetStreamPackage {
  readonly jetstream: (connection: NatsConnection) => JetStreamClient;
  readonly jetstreamManager: (connection: NatsConnection) => Promise<JetStreamManager>;
}

/** @throws SagaConfigurationError when it is not installed */
export const loadNats = once(
  '@nats-io/transport-node',
  () => import('@nats-io/transport-node') as Promise<unknown> as Promise<NatsPackage>,
);

/** @throws SagaConfigurationError when it is not installed */
export const loadJetStream = once(
  '@nats-io/jetstream',
  () => import('@nats-io/jetstream') as Promise<unknown> as Promise<JetStreamPackage>,
);

function once<T>(name: string, load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw new SagaConfigurationError(
        `NATS requires ${name}, which is not installed. Run npm install ${name}`,
        {
          cause: error,
        },
      );
    }));
}

/** The headers of a message, as NATS takes them. */
export async function nativeHeaders(headers: Readonly<Record<string, string>>): Promise<NatsHeaders> {
  const { headers: newHeaders } = await loadNats();
  const native = newHeaders();
  for (const [name, value] of Object.entries(headers)) native.set(name, value);
  return native;
}

/** A stream of NATS JetStream. */
export interface JetStreamStream {
  /** The name of the stream. */
  readonly name: string;
  /** The subjects of the stream, such as `['orders.>']`. */
  readonly subjects: readonly string[];
  /**
   * Further settings of the stream, as in `streams.add` of `@nats-io/jetstream`: storage, num_replicas, max_age, …
   * Default: the server's.
   */
  readonly config?: object;
}

export const STREAM = kind.object(
  {
    name: required(kind.text),
    subjects: required(kind.checked<readonly string[]>(Array.isArray, "give an array such as ['orders.>']")),
    config: optional(kind.anything<object>()),
  } satisfies OptionTable<JetStreamStream>,
  "{ name, subjects: ['orders.>'] }",
);

/** For the `catch` of a question for a stream or a consumer: undefined if the server does not have it. */
export function ifMissing(error: unknown): undefined {
  if ((error as { status?: unknown }).status !== 404) throw error;
}

/**
 * Creates the stream, or adds missing subjects to an existing stream. Other settings of an existing stream stay
 * unchanged.
 */
export async function ensureStream(
  manager: JetStreamManager,
  { name, subjects, config }: JetStreamStream,
): Promise<void> {
  const there = await manager.streams.info(name).catch(ifMissing);
  if (!there) return void (await manager.streams.add({ ...config, name, subjects: [...subjects] }));
  const all = [...new Set([...there.config.subjects, ...subjects])];
  if (all.length > there.config.subjects.length)
    await manager.streams.update(name, { ...there.config, subjects: all });
}
