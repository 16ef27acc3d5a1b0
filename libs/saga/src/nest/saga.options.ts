import type { Partitions } from '../store/postgres/schema/partition-saga-tables.js';
import type { Type } from '@nestjs/common';
import { type Duration, LONGEST_TIMER } from '../definition/options/duration.js';
import { OptionReader } from '../definition/options/option-reader.js';
import { type Report, textOfDiagnostic, textOfProblems } from '../shared/diagnostic.js';
import type { RetryPolicy } from '../definition/options/retry-policy.js';
import { SagaConfigurationError } from '../errors.js';
import { shown } from '../shared/shown-value.js';
import { DEFAULT_SCHEMA } from '../store/postgres/schema/saga-entities.js';
import { LONGEST_RECOVERY_WINDOW } from '../engine/ports/put-back.js';
import type { OperatorAction } from '../engine/ports/operation.js';
import { serializeError } from '../engine/payload/serialize-error.js';
import type { PayloadCodec } from '../store/coded/payload-codec.js';
import type { RecoveryBounds } from '../engine/write/recent-sagas.js';
import type { MethodContext } from '../engine/ports/method-context.js';
import { readAmbient, type SagaAmbient } from './ambient.js';
import { codecProblem } from './codec-problem.js';
import { readDatabase, readStandby } from './database-options.js';
import {
  readShards,
  type ShardDatabase,
  type ShardedStart,
  type ShardsRead,
} from './shards/shard-options.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { schemaFlaw } from '../store/postgres/connection/schema-name.js';

/**
 * Options of `SagaModule.forRoot()`. They are checked at start-up. A SagaConfigurationError names all invalid options
 * at once.
 */
export interface SagaModuleOptions {
  /**
   * The database of an application that does not use TypeORM: `pgDatabase(pool)` of `nestjs-durable-saga/pg`, for
   * example. It excludes `dataSource`. Default: a TypeORM DataSource.
   */
  database?: SagaDatabase;
  /** The name of a TypeORM DataSource. Default: the default DataSource. */
  dataSource?: string;
  /**
   * A streaming standby of the database, from which `find()`, and the lists and rates of the dashboard, are read: a
   * database of an entry, or the name of a TypeORM DataSource. They say how old they are (`asOf`). Everything else uses
   * the primary, which also answers while the standby cannot. Default: the primary.
   */
  readFrom?: SagaDatabase | string;
  /**
   * Several shards by their names: each saga is in one of them. A value is the database of a layer, as for `database`, or
   * the name of a TypeORM DataSource, or `{ database, schema }`: shards with a schema each may share a database. The first
   * one has the schedules. It excludes `database` and `dataSource`. Default: one database.
   */
  shards?: Record<string, SagaDatabase | string | ShardDatabase>;
  /**
   * Returns the name of the shard on which a saga starts that `start()` is given no shard for. It must return the same for
   * the same input. Undefined: the keys of the saga decide. Default: the keys of each saga decide.
   */
  shardOf?: (start: ShardedStart) => string | undefined;
  /** The schema of the sagas' tables, which contains nothing else. Default: `'saga'`. */
  schema?: string;
  /** Whether to apply pending migrations at start-up. Default: true. */
  migrate?: boolean;
  /**
   * What to do at start-up if a saga's graph has changed but its version has not, while instances of it are running that
   * may need a removed step or compensation. `'error'`: the application does not start (SagaDriftError), unless an operator
   * has accepted the change with `saga graph accept`. `'warn'`: running instances keep their graph, and such an instance
   * becomes stuck. The environment variable `SAGA_ON_DRIFT` overrides it. Default: `'error'`.
   */
  onDrift?: 'error' | 'warn';
  /**
   * Files of declared sagas, with `*`, `?` and `**`, relative to the working directory: `['sagas/*.yaml']`. Their sagas
   * run beside those that are classes. Default: none.
   */
  declared?: string | string[];
  /** `false`: this process starts and reads sagas but runs none. Default: it runs all of its sagas. */
  worker?: false | SagaWorkerOptions;
  /** The retry policy of steps without their own policy. Default: 3 attempts, exponential, with jitter. */
  retry?: RetryPolicy;
  /** The retry policy of compensations without their own policy. Default: 10 attempts, exponential, with jitter. */
  compensationRetry?: RetryPolicy;
  /**
   * The number of operators who must make the same call before it is executed. The first calls are kept in the history
   * as proposals, which are valid until the saga changes. Default: 1 for each call.
   */
  approvals?: RequiredApprovals;
  /**
   * The maximum size of an input, result or signal as JSON, in bytes. A larger value throws SagaPayloadError. Default:
   * 1 MiB.
   */
  maxPayloadBytes?: number;
  /**
   * Encodes values in the database: inputs, results, errors, signals, approvals, reasons, and the payloads of messages.
   * Values that were stored before stay readable. All processes over the database must use the same codec. Default:
   * none, values are stored as JSON.
   */
  codec?: PayloadCodec;
  /**
   * How long ended sagas are kept, unless `@Saga({ retention })` is set. Workers delete older ones in small batches.
   * Default: for ever.
   */
  retention?: Duration;
  /**
   * What a process puts back after a failover that has lost commits: the starts that it acknowledged, and the progress of
   * the sagas that it ran, within this time before the failover. It takes memory, up to `maxRecoveryBytes`. 0 or `false`:
   * nothing is kept, and what was lost runs again or is forgotten. At most 1 h. docs/reliability.md lists what is covered.
   * Default: `'60s'`.
   */
  recoveryWindow?: Duration | false;
  /**
   * The maximum size of what is kept for `recoveryWindow`, in bytes; the oldest is dropped first. A saga counts for 2 kB,
   * its payloads and its errors. Default: 64 MiB.
   */
  maxRecoveryBytes?: number;
  /**
   * Partitions the sagas' tables by start time, so that old sagas are deleted by dropping a partition. It is meant for
   * many millions of sagas; docs/retention.md lists the costs. The first start with this option converts the tables and
   * locks them meanwhile. Default: none.
   */
  partitions?: Partitions;
  /**
   * What sagas take from the asynchronous context of the application: its transaction, and values such as the tenant.
   * docs/recipes/ambient-transactions.md shows it with typeorm-transactional and nestjs-cls. Default: nothing.
   */
  ambient?: SagaAmbient;
}

/** The number of operators who must make the same call before it is executed. */
export type RequiredApprovals = {
  /** The number for `abort()`, a whole number from 1. Default: 1. */
  abort?: number;
  /** The number for `undo()`, a whole number from 1. Default: 1. */
  undo?: number;
  /** The number for `skip()`, a whole number from 1. Default: 1. */
  skip?: number;
  /** The number for `complete()`, a whole number from 1. Default: 1. */
  complete?: number;
  /** The number for `abandonAttempt()`, a whole number from 1. Default: 1. */
  abandonAttempt?: number;
  /** The number for `retry()` with another `input`, a whole number from 1. Default: 1. */
  retryWithInput?: number;
};

/** Options of the worker that runs sagas in a process. */
export interface SagaWorkerOptions {
  /**
   * The maximum number of sagas that the worker runs at once. Default: adapted to the load, from 100 to 1,000, as long
   * as the database answers within 250 ms and less than 80 % of the heap is in use.
   */
  concurrency?: number;
  /** The interval of the fallback poll. While LISTEN/NOTIFY works, only every fifth poll is made. Default: `'1s'`. */
  pollInterval?: Duration;
  /**
   * The duration of a lease, after which another worker may take the saga over. The worker renews it while it runs the
   * saga. Default: `'30s'`.
   */
  lease?: Duration;
  /** The only sagas, and providers with step handlers, that this worker runs. Default: all of the application. */
  sagas?: Type[];
  /** How long running steps may take to finish when the application stops. Default: `'10s'`. */
  shutdownTimeout?: Duration;
  /** How many times a saga may lose its worker without progress in between. One more, and it is stuck. Default: 5. */
  maxTakeovers?: number;
}

/** The options with defaults, and durations in milliseconds. */
export interface ResolvedSagaOptions {
  readonly database?: SagaDatabase;
  readonly dataSource?: string;
  readonly readFrom?: SagaDatabase | string;
  readonly shards?: ShardsRead['shards'];
  readonly shardOf?: ShardsRead['shardOf'];
  readonly schema: string;
  readonly migrate: boolean;
  readonly onDrift: 'error' | 'warn';
  readonly declared?: readonly string[];
  readonly pollInterval: number;
  readonly lease: number;
  readonly worker?: {
    readonly concurrency?: number;
    readonly sagas?: readonly Type[];
    readonly shutdownTimeout: number;
    readonly maxTakeovers: number;
  };
  readonly retry?: RetryPolicy;
  readonly compensationRetry?: RetryPolicy;
  readonly approvals: { readonly [Call in OperatorAction | 'retryWithInput']?: number };
  readonly maxPayloadBytes: number;
  readonly codec?: PayloadCodec;
  readonly retention?: number;
  readonly recovery?: RecoveryBounds;
  readonly partitions?: Partitions;
  readonly ambient?: SagaAmbient;
  readonly within?: MethodContext;
}

const OPTIONS = [
  'database',
  'dataSource',
  'readFrom',
  'shards',
  'shardOf',
  'schema',
  'migrate',
  'onDrift',
  'declared',
  'worker',
  'retry',
  'compensationRetry',
  'approvals',
  'maxPayloadBytes',
  'codec',
  'retention',
  'recoveryWindow',
  'maxRecoveryBytes',
  'partitions',
  'ambient',
] as const satisfies (keyof SagaModuleOptions)[];
const WORKER_OPTIONS = [
  'concurrency',
  'pollInterval',
  'lease',
  'sagas',
  'shutdownTimeout',
  'maxTakeovers',
] as const satisfies (keyof SagaWorkerOptions)[];
const APPROVALS = [
  'abort',
  'undo',
  'skip',
  'complete',
  'abandonAttempt',
  'retryWithInput',
] as const satisfies (keyof RequiredApprovals)[];
/** The environment variable that operators override `onDrift` by. */
const DRIFT_VARIABLE = 'SAGA_ON_DRIFT';
const SHORTEST_LEASE = 100;
const SHORTEST_POLL = 10;

/**
 * Returns the options with defaults.
 * @throws SagaConfigurationError that names all invalid options, their values and how to fix them
 */
export function withDefaults(options: SagaModuleOptions): ResolvedSagaOptions {
  let problem: string;
  try {
    const read = readOptions(options);
    if (!Array.isArray(read)) return read;
    problem = textOfProblems(read);
  } catch (error) {
    problem = `the options could not be read: ${serializeError(error).message}`;
  }
  throw new SagaConfigurationError(`SagaModule.forRoot: ${problem}`);
}

/** Returns the options with defaults, or the texts of all problems. */
function readOptions(given: SagaModuleOptions): ResolvedSagaOptions | string[] {
  const problems: string[] = [];
  const report: Report = (problem, fix) => void problems.push(textOfDiagnostic({ problem, fix }));
  const reader = new OptionReader(report);
  const options = reader.options(given, OPTIONS);
  const worker = readWorker(options.worker, reader);
  const { schema = DEFAULT_SCHEMA, codec, partitions, retry, compensationRetry } = options;
  const migrate = reader.flag(options.migrate, 'migrate', true);
  if (worker && worker.sagas !== undefined && !Array.isArray(worker.sagas))
    report(`worker.sagas is ${shown(worker.sagas)}`, 'give an array of classes');
  const flaw = schemaFlaw(schema);
  if (flaw !== undefined) problems.push(flaw);
  const wrongCodec = codecProblem(codec);
  if (wrongCodec) report(...wrongCodec);
  const drift = process.env[DRIFT_VARIABLE] || undefined;
  const onDrift = reader.oneOf(drift ?? options.onDrift ?? undefined, drift ? DRIFT_VARIABLE : 'onDrift', [
    'error',
    'warn',
  ]);
  if (partitions !== undefined) reader.oneOf(partitions, 'partitions', ['daily', 'weekly']);
  if (retry !== undefined) reader.retry(retry, 'retry');
  if (compensationRetry !== undefined) reader.retry(compensationRetry, 'compensationRetry');
  const ambient = readAmbient(options.ambient, report);
  const resolved: ResolvedSagaOptions = {
    ...readDatabase(options, report),
    ...readStandby(options, report),
    ...readShards(options, schema, report),
    ...{ schema, migrate, onDrift, codec, partitions, retry, compensationRetry },
    ...resolvedWorker(worker, reader, report),
    declared: readDeclared(options.declared, report),
    approvals: readApprovals(options.approvals ?? {}, reader),
    maxPayloadBytes: whole(options.maxPayloadBytes ?? 2 ** 20, 'maxPayloadBytes', reader),
    retention: readRetention(options.retention, reader, report),
    recovery: readRecovery(options, reader),
    ambient,
    within: ambient?.run,
  };
  return problems.length > 0 ? problems : resolved;
}

function readDeclared(
  declared: SagaModuleOptions['declared'],
  report: Report,
): readonly string[] | undefined {
  if (declared === undefined) return undefined;
  const paths = [declared].flat() as unknown[];
  if (paths.length > 0 && paths.every((path) => typeof path === 'string' && path !== ''))
    return paths as string[];
  report(`declared is ${shown(declared)}`, "give paths of YAML or JSON files, such as 'sagas/*.yaml'");
  return undefined;
}

function readWorker(
  worker: SagaModuleOptions['worker'],
  reader: OptionReader,
): Partial<SagaWorkerOptions> | false {
  if (worker === undefined || worker === false) return worker ?? {};
  return reader.object(worker, 'worker', WORKER_OPTIONS, 'false, or an object of its options') ?? {};
}

/** Processes that run no sagas poll as well, and know how long a lease is. */
function resolvedWorker(
  worker: Partial<SagaWorkerOptions> | false,
  reader: OptionReader,
  report: Report,
): Pick<ResolvedSagaOptions, 'pollInterval' | 'lease' | 'worker'> {
  const duration = (value: Duration, name: string, least: number): number => {
    const ms = reader.duration(value, name, LONGEST_TIMER, least);
    if (ms < least) report(`${name} is ${shown(value)}`, `give at least ${least} ms`);
    return ms;
  };
  const { concurrency, sagas, maxTakeovers = 5 } = worker || {};
  const { pollInterval = '1s', lease = '30s', shutdownTimeout = '10s' } = worker || {};
  return {
    pollInterval: duration(pollInterval, 'worker.pollInterval', SHORTEST_POLL),
    lease: duration(lease, 'worker.lease', SHORTEST_LEASE),
    worker: worker
      ? {
          concurrency:
            concurrency === undefined ? undefined : whole(concurrency, 'worker.concurrency', reader),
          sagas,
          shutdownTimeout: duration(shutdownTimeout, 'worker.shutdownTimeout', 0),
          maxTakeovers: whole(maxTakeovers, 'worker.maxTakeovers', reader),
        }
      : undefined,
  };
}

function readRetention(
  retention: Duration | undefined,
  reader: OptionReader,
  report: Report,
): number | undefined {
  if (retention === undefined) return undefined;
  const ms = reader.duration(retention, 'retention', undefined, NaN);
  if (ms === 0)
    report('retention is 0, which deletes every saga as soon as it ends', 'remove it to keep sagas for ever');
  return ms;
}

/** Undefined: nothing is put back. */
function readRecovery(
  { recoveryWindow = '60s', maxRecoveryBytes = 64 * 2 ** 20 }: Partial<SagaModuleOptions>,
  reader: OptionReader,
): RecoveryBounds | undefined {
  const bytes = whole(maxRecoveryBytes, 'maxRecoveryBytes', reader);
  if (recoveryWindow === false) return undefined;
  const window = reader.duration(recoveryWindow, 'recoveryWindow', LONGEST_RECOVERY_WINDOW);
  return window === 0 ? undefined : { window, bytes };
}

/** These are kept in memory, where a count may be larger than an integer of PostgreSQL. */
function whole(value: number, name: string, reader: OptionReader): number {
  return reader.count(value, name, 1, Number.MAX_VALUE);
}

function readApprovals(given: RequiredApprovals, reader: OptionReader): ResolvedSagaOptions['approvals'] {
  const read = reader.object(given, 'approvals', APPROVALS, 'an object such as { abort: 2 }') ?? {};
  return Object.fromEntries(
    Object.entries(read).map(([action, people]) => [action, whole(people, `approvals.${action}`, reader)]),
  );
}
