import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { Duration, RetryPolicy } from 'nestjs-durable-saga';
import type { ShardDatabase } from 'nestjs-durable-saga/database';
import type { PayloadCodec } from 'nestjs-durable-saga/encryption';
import type { SagaDatabase } from 'nestjs-durable-saga/database';
import {
  DEFAULT_SCHEMA,
  type Kind,
  LONGEST_TIMER,
  type OptionTable,
  RETRY_POLICY,
  type Report,
  type ResolvedRetryPolicy,
  kind,
  optional,
  policyOf,
  schemaName,
  shown,
  withDefault,
} from 'nestjs-durable-saga/internal';
import {
  DATABASE_SOURCE_OPTIONS,
  SHARD_OPTIONS,
  leaseTime,
  payloadCodec,
  pollTime,
  readDatabase,
  readModuleOptions,
  readShardOptions,
  shutdownTime,
} from 'nestjs-durable-saga/internal/runtime';
import type { MessageTransport } from './relay/message-transport.js';
import { ClientProxyTransport } from './transports/client-proxy.transport.js';
import type { EventClient } from './transports/client-senders.js';

/** Options of `SagaMessagingModule.forRoot()`. */
export interface SagaMessagingModuleOptions {
  /**
   * The database of an application that does not use TypeORM: `pgDatabase(pool)` of `nestjs-durable-saga/pg`, for
   * example. With SagaModule, it must be the same. It excludes `dataSource`. Default: a TypeORM DataSource.
   */
  database?: SagaDatabase;
  /** The name of a TypeORM DataSource. Default: the default DataSource. */
  dataSource?: string;
  /**
   * Several shards by their names, each with an outbox, an inbox and a relay of its own. A value is the database of a
   * layer, as for `database`, or the name of a TypeORM DataSource, or `{ database, schema }`. It excludes `database` and
   * `dataSource`. Default: SagaModule's, or else one database.
   */
  shards?: Record<string, SagaDatabase | string | ShardDatabase>;
  /** The schema of the tables, which contains nothing else. With SagaModule, it must be the same. Default: `'saga'`. */
  schema?: string;
  /** Whether to apply pending migrations at start-up. Default: true. */
  migrate?: boolean;
  /**
   * The transport that sends messages. Set either `transport` or `client`. It is closed with the application. Default:
   * none, which requires `relay: false`.
   */
  transport?: MessageTransport;
  /**
   * A client of `@nestjs/microservices`, such as ClientProxyFactory creates: short for `new
   * ClientProxyTransport(client)`. Default: none, as with `transport`.
   */
  client?: EventClient;
  /** `false`: this process publishes, and another process, or change data capture, sends. Default: it sends. */
  relay?: false | RelayOptions;
  /** Options of the outbox. Default: those of OutboxOptions. */
  outbox?: OutboxOptions;
  /** Options of the inbox. Default: those of InboxOptions. */
  inbox?: InboxOptions;
  /** The maximum size of a payload as JSON, in bytes. A larger payload throws SagaPayloadError. Default: 1 MiB. */
  maxPayloadBytes?: number;
  /**
   * Encodes the payloads of messages while they are in the outbox. They are sent as they were published. With
   * SagaModule, set the codec there. Default: SagaModule's.
   */
  codec?: PayloadCodec;
}

/** Options of the relay, which sends the messages of the outbox. */
export interface RelayOptions {
  /** The number of messages in a batch. Default: 1,000. */
  batch?: number;
  /** The maximum number of batches that are sent at once. Default: 8. */
  batchesAtOnce?: number;
  /**
   * How long the relay's lease on messages lasts, after which another relay may send them. The relay renews it.
   * Default: `'30s'`.
   */
  lease?: Duration;
  /** The interval of the fallback poll. While LISTEN/NOTIFY works, only every fifth poll is made. Default: `'1s'`. */
  pollInterval?: Duration;
  /** How long the broker may take to confirm a message before it is sent again. Default: `'30s'`. */
  sendTimeout?: Duration;
  /**
   * The retry policy of a message that the broker rejects. After the last attempt, the message is dead. Default: 10
   * attempts, from 1 s to 5 minutes.
   */
  retry?: Omit<RetryPolicy, 'retryIf' | 'backoff'>;
  /** How long running batches may take to finish when the application stops. Default: `'10s'`. */
  shutdownTimeout?: Duration;
}

/** Options of the outbox. */
export interface OutboxOptions {
  /** With `relay: false`, if change data capture sends: messages older than this are deleted. Default: never. */
  retention?: Duration;
}

/** Options of the inbox. */
export interface InboxOptions {
  /** How long the id of a handled message is kept. A later delivery is handled again. Default: `'14d'`. */
  retention?: Duration;
}

/** The options with defaults, and durations in milliseconds. Without `relay`, this process sends no messages. */
export type ResolvedMessagingOptions = ReturnType<typeof withMessagingDefaults>;

/** A page is bounded in bytes, too. */
const LARGEST_BATCH = 1_000_000;

const { backoff: _backoff, retryIf: _retryIf, ...POLICY } = RETRY_POLICY;
/** A policy of the relay, which has defaults of its own. */
const relayRetry: Kind<Partial<RelayOptions['retry']>, ResolvedRetryPolicy> = {
  read: (value, option, reader) => {
    const policy = reader.below(RELAY_RETRY, value, option, 'a policy such as { attempts: 10 }');
    return policy && policyOf(policy, option, reader);
  },
};
const RELAY_RETRY = {
  ...POLICY,
  attempts: withDefault(kind.count(), 10),
  delay: withDefault(kind.duration(), '1s'),
  maxDelay: withDefault(kind.duration(), '5m'),
} satisfies OptionTable<RelayOptions['retry']>;
const RELAY_OPTIONS = {
  batch: withDefault(kind.count(1, LARGEST_BATCH), 1_000),
  batchesAtOnce: withDefault(kind.count(), 8),
  lease: withDefault(leaseTime, '30s'),
  pollInterval: withDefault(pollTime, '1s'),
  sendTimeout: withDefault(kind.duration({ least: 1, longest: LONGEST_TIMER }), '30s'),
  retry: withDefault(relayRetry, {}),
  shutdownTimeout: withDefault(shutdownTime, '10s'),
} satisfies OptionTable<RelayOptions>;
const OUTBOX_OPTIONS = {
  retention: optional(kind.duration({ least: 1 })),
} satisfies OptionTable<OutboxOptions>;
const INBOX_OPTIONS = {
  retention: withDefault(kind.duration({ least: 1 }), '14d'),
} satisfies OptionTable<InboxOptions>;
const OPTIONS = {
  ...DATABASE_SOURCE_OPTIONS,
  shards: SHARD_OPTIONS.shards,
  schema: withDefault(schemaName, DEFAULT_SCHEMA),
  migrate: withDefault(kind.flag, true),
  // `transportOf` checks them together.
  transport: optional(kind.anything<MessageTransport>()),
  client: optional(kind.anything<EventClient>()),
  relay: withDefault(kind.orFalse(kind.object(RELAY_OPTIONS, 'false, or an object of its options')), {}),
  outbox: withDefault(kind.object(OUTBOX_OPTIONS, 'an object of its options'), {}),
  inbox: withDefault(kind.object(INBOX_OPTIONS, 'an object of its options'), {}),
  maxPayloadBytes: withDefault(kind.count(), 2 ** 20),
  codec: optional(payloadCodec),
} satisfies OptionTable<SagaMessagingModuleOptions>;

/**
 * Returns the options with defaults.
 * @throws SagaConfigurationError that names all invalid options, their values and how to fix them
 */
export function withMessagingDefaults(given: SagaMessagingModuleOptions) {
  return readModuleOptions('SagaMessagingModule', OPTIONS, given, (read, { report }) => {
    const { relay, outbox, inbox, ...options } = read;
    if (outbox?.retention !== undefined && relay !== false)
      report(
        'outbox.retention is set, but the relay deletes the messages that it sent',
        'remove it, or set relay: false',
      );
    const transport = transportOf(options, relay !== false, report);
    return {
      ...readDatabase(options, report),
      ...readShardOptions(options, options.schema, report),
      schema: options.schema,
      migrate: options.migrate,
      maxPayloadBytes: options.maxPayloadBytes,
      codec: options.codec,
      relay: relay && transport ? { ...relay, transport } : undefined,
      outboxRetention: outbox?.retention,
      inboxRetention: inbox?.retention,
    };
  });
}

function transportOf(
  { transport, client }: SagaMessagingModuleOptions,
  sends: boolean,
  report: Report,
): MessageTransport | undefined {
  if (transport !== undefined && client !== undefined) {
    report('both transport and client are set', 'set only one of them');
  } else if (transport !== undefined) {
    if (typeof (transport as Partial<MessageTransport> | null)?.send === 'function') return transport;
    report(`transport is ${shown(transport)}`, 'give an object with send(message)');
  } else if (client !== undefined) {
    if (typeof (client as Partial<EventClient> | null)?.emit === 'function')
      return new ClientProxyTransport(client);
    report(`client is ${shown(client)}`, 'give a ClientProxy of @nestjs/microservices');
  } else if (sends) {
    report('there is no transport', 'give client or transport, or relay: false if another process sends');
  }
  return undefined;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SagaMessagingModuleOptions>({ moduleName: 'SagaMessaging' })
    .setClassMethodName('forRoot')
    .build();
