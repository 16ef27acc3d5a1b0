import { type Duration, LONGEST_TIMER, readDuration } from '../definition/options/duration.js';
import { OptionReader } from '../definition/options/option-reader.js';
import type { ResolvedRetryPolicy, RetryPolicy } from '../definition/options/retry-policy.js';
import { textOfDiagnostic, textOfProblems } from '../shared/diagnostic.js';
import { shown } from '../shared/shown-value.js';
import { SagaConfigurationError } from '../errors.js';
import { serializeError } from '../engine/payload/serialize-error.js';
import { codecProblem } from '../nest/codec-problem.js';
import { readDatabase } from '../nest/database-options.js';
import { readShards, type ShardDatabase, type ShardsRead } from '../nest/shards/shard-options.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import type { PayloadCodec } from '../store/coded/payload-codec.js';
import { DEFAULT_SCHEMA } from '../store/postgres/schema/saga-entities.js';
import { schemaFlaw } from '../store/postgres/connection/schema-name.js';
import type { MessageTransport } from './relay/message-transport.js';
import { ClientProxyTransport } from './transports/client-proxy.transport.js';
import type { EventClient } from './transports/emitted.js';

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
  /** The number of concurrent batches. Default: 8. */
  concurrency?: number;
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

/** The options with defaults, and durations in milliseconds. */
export interface ResolvedMessagingOptions {
  readonly database?: SagaDatabase;
  readonly dataSource?: string;
  readonly shards?: ShardsRead['shards'];
  readonly schema: string;
  readonly migrate: boolean;
  readonly maxPayloadBytes: number;
  readonly codec?: PayloadCodec;
  /** Undefined if this process sends no messages. */
  readonly relay?: ResolvedRelayOptions;
  readonly outboxRetention?: number;
  readonly inboxRetention: number;
}

export interface ResolvedRelayOptions {
  readonly transport: MessageTransport;
  readonly batch: number;
  readonly concurrency: number;
  readonly lease: number;
  readonly pollInterval: number;
  readonly sendTimeout: number;
  readonly retry: ResolvedRetryPolicy;
  readonly shutdownTimeout: number;
}

const OPTIONS = [
  ...(['database', 'dataSource', 'shards', 'schema', 'migrate', 'transport', 'client'] as const),
  ...(['relay', 'outbox', 'inbox', 'maxPayloadBytes', 'codec'] as const),
] satisfies (keyof SagaMessagingModuleOptions)[];
const RELAY_OPTIONS = [
  ...(['batch', 'concurrency', 'lease', 'pollInterval'] as const),
  ...(['sendTimeout', 'retry', 'shutdownTimeout'] as const),
] satisfies (keyof RelayOptions)[];
const RETRY_OPTIONS: (keyof RetryPolicy)[] = ['attempts', 'delay', 'factor', 'maxDelay', 'jitter', 'retryIf'];
const EXAMPLE = 'a policy such as { attempts: 10 }';
const RETRY = { attempts: 10, delay: '1s', maxDelay: '5m' } as const;
/** A page is bounded in bytes, too. */
const LARGEST_BATCH = 1_000_000;
const SHORTEST_LEASE = 100;
const SHORTEST_POLL = 10;

/**
 * Returns the options with defaults.
 * @throws SagaConfigurationError that names all invalid options, their values and how to fix them
 */
export function withMessagingDefaults(options: SagaMessagingModuleOptions): ResolvedMessagingOptions {
  const problems: string[] = [];
  let read: ResolvedMessagingOptions | undefined;
  try {
    read = readMessagingOptions(options, (problem, fix) => problems.push(textOfDiagnostic({ problem, fix })));
  } catch (error) {
    problems.push(`the options could not be read: ${serializeError(error).message}`);
  }
  if (read && problems.length === 0) return read;
  throw new SagaConfigurationError(`SagaMessagingModule.forRoot: ${textOfProblems(problems)}`);
}

type Report = (problem: string, fix: string) => void;

function readMessagingOptions(given: SagaMessagingModuleOptions, report: Report): ResolvedMessagingOptions {
  const reader = new OptionReader(report);
  const options = reader.options(given, OPTIONS);
  const { schema = DEFAULT_SCHEMA, maxPayloadBytes = 2 ** 20 } = options;
  const flaw = schemaFlaw(schema);
  if (flaw !== undefined) report(...(flaw.split('; ', 2) as [string, string]));
  const part = <T extends object>(
    given: T | undefined,
    name: string,
    keys: (keyof T & string)[],
  ): Partial<T> => reader.object<T>(given ?? ({} as T), name, keys, 'an object of its options') ?? {};
  const outbox = part<OutboxOptions>(options.outbox, 'outbox', ['retention']);
  const inbox = part<InboxOptions>(options.inbox, 'inbox', ['retention']);
  if (outbox.retention !== undefined && options.relay !== false)
    report(
      'outbox.retention is set, but the relay deletes the messages that it sent',
      'remove it, or set relay: false',
    );
  const wrongCodec = codecProblem(options.codec);
  if (wrongCodec) report(...wrongCodec);
  return {
    ...readDatabase(options, report),
    ...readShards(options, schema, report),
    schema,
    migrate: reader.flag(options.migrate, 'migrate', true),
    maxPayloadBytes: reader.count(maxPayloadBytes, 'maxPayloadBytes'),
    codec: options.codec,
    relay: readRelayOptions(options, reader, report),
    outboxRetention:
      outbox.retention === undefined ? undefined : atLeast(outbox.retention, 'outbox.retention', 1, report),
    inboxRetention: atLeast(inbox.retention ?? '14d', 'inbox.retention', 1, report),
  };
}

function readRelayOptions(
  options: SagaMessagingModuleOptions,
  reader: OptionReader,
  report: Report,
): ResolvedRelayOptions | undefined {
  const transport = transportOf(options, report);
  if (options.relay === false) return undefined;
  const relay =
    reader.object<RelayOptions>(
      options.relay ?? {},
      'relay',
      RELAY_OPTIONS,
      'false, or an object of its options',
    ) ?? {};
  const given =
    relay.retry && reader.object<Partial<RetryPolicy>>(relay.retry, 'relay.retry', RETRY_OPTIONS, EXAMPLE);
  const retry = reader.retry({ ...RETRY, ...given }, 'relay.retry');
  if (given && 'retryIf' in given)
    report(
      'relay.retry.retryIf is set, but the relay does not use it',
      'throw a MessageRefusedError in the transport instead',
    );
  if (Number.isInteger(relay.batch) && relay.batch! > LARGEST_BATCH)
    report(`relay.batch is ${shown(relay.batch)}`, `give at most ${LARGEST_BATCH}`);
  const resolved = {
    batch: reader.count(relay.batch ?? 1_000, 'relay.batch'),
    concurrency: reader.count(relay.concurrency ?? 8, 'relay.concurrency'),
    lease: atLeast(relay.lease ?? '30s', 'relay.lease', SHORTEST_LEASE, report, LONGEST_TIMER),
    pollInterval: atLeast(
      relay.pollInterval ?? '1s',
      'relay.pollInterval',
      SHORTEST_POLL,
      report,
      LONGEST_TIMER,
    ),
    sendTimeout: atLeast(relay.sendTimeout ?? '30s', 'relay.sendTimeout', 1, report, LONGEST_TIMER),
    shutdownTimeout: atLeast(
      relay.shutdownTimeout ?? '10s',
      'relay.shutdownTimeout',
      0,
      report,
      LONGEST_TIMER,
    ),
  };
  return transport && retry && { ...resolved, retry, transport };
}

function transportOf(
  { transport, client, relay }: SagaMessagingModuleOptions,
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
  } else if (relay !== false) {
    report('there is no transport', 'give client or transport, or relay: false if another process sends');
  }
  return undefined;
}

function atLeast(value: Duration, name: string, least: number, report: Report, longest?: number): number {
  const read = readDuration(value, name, longest);
  if (typeof read !== 'number') report(read.problem, read.fix);
  else if (read < least) report(`${name} is ${shown(value)}`, `give at least ${least} ms`);
  else return read;
  return least;
}
