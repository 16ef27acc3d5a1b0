import { SagaConfigurationError } from '../../errors.js';

/** The part of NATS's packages that is used; by structure, so that who does not use NATS need not have its types. */
export interface NatsHeaders {
  /** Sets a header. */
  set(name: string, value: string): void;
  /** A header; empty: there is none. */
  get(name: string): string;
  /** The names of all headers. */
  keys(): string[];
}

export interface NatsConnection {
  drain(): Promise<void>;
  close(): Promise<void>;
  isClosed(): boolean;
  flush(): Promise<void>;
}

/** As `connect` of `@nats-io/transport-node` takes them. */
export interface NatsConnectionOptions {
  /** `host:port`, or several; default `localhost:4222`. */
  readonly servers?: string | string[];
  /** Who connects. Default: nobody is named. */
  readonly user?: string;
  /** The password of `user`. Default: none. */
  readonly pass?: string;
  /** In place of user and password. Default: none. */
  readonly token?: string;
  readonly [option: string]: unknown;
}

interface NatsPackage {
  readonly connect: (options: object) => Promise<NatsConnection>;
  readonly headers: () => NatsHeaders;
}

/** The part of a message of JetStream that is used. */
export interface JetStreamMessage {
  /** Where it was published. */
  readonly subject: string;
  /** Absent: it has none. */
  readonly headers?: NatsHeaders;
  /** JSON, as bytes. */
  readonly data: Uint8Array;
  /** Of its deliveries, the first included. */
  readonly info: { readonly deliveryCount: number };
  /** It is handled. */
  ack(): void;
  /** The same, and waits until the server knows. */
  ackAck(): Promise<boolean>;
  /** Deliver it again, after so many milliseconds. */
  nak(ms?: number): void;
  /** It takes longer: do not deliver it again yet. */
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
