import type { Type } from '@nestjs/common';
import { type Duration, LONGEST_TIMER } from '../definition/options/duration.js';
import * as kind from '../definition/options/kinds.js';
import {
  type Kind,
  type Option,
  optional,
  type OptionTable,
  withDefault,
} from '../definition/options/option-reader.js';
import { retryPolicy, type RetryPolicy } from '../definition/options/retry-policy.js';
import { withoutUndefined } from '../shared/without-undefined.js';
import { DEFAULT_SCHEMA } from '../store/postgres/schema/saga-entities.js';
import { partitionPeriod, type Partitions } from '../store/postgres/schema/partition-saga-tables.js';
import { LONGEST_RECOVERY_WINDOW } from '../engine/ports/put-back.js';
import { APPROVAL_RULES, type ApprovalRule } from '../engine/ports/call-table.js';
import { payloadCodec, type PayloadCodec } from '../store/coded/payload-codec.js';
import { AMBIENT_OPTIONS, type SagaAmbient } from './ambient.js';
import { DATABASE_SOURCE_OPTIONS, readDatabase, readStandby } from './database-options.js';
import { checkExternalEngine, externalEngine, type ExternalEngine } from './external-engine.js';
import {
  readShardOptions,
  SHARD_OPTIONS,
  type ShardDatabase,
  type ShardedStart,
} from './shards/shard-options.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { readModuleOptions } from './module-options.js';
import { schemaName } from '../store/postgres/connection/schema-name.js';

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
   * An engine other than PostgreSQL, which a package for it makes. What it cannot keep is refused at start-up. It excludes
   * `readFrom`, `shards` and `partitions`. Default: PostgreSQL.
   */
  engine?: ExternalEngine;
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
  /** The number for `resolve()`, a whole number from 1. Of an approval, its quorum counts instead. Default: 1. */
  resolve?: number;
  /** The number for `abandon()`, a whole number from 1. Default: 1. */
  abandon?: number;
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
export type ResolvedSagaOptions = ReturnType<typeof withDefaults>;

/** Counts in memory, which may be larger than an integer of PostgreSQL. */
const whole = kind.count(1, Number.MAX_VALUE);
const SHORTEST_LEASE = 100;
const SHORTEST_POLL = 10;
/** The time of a lease, which another process may take over after it. */
export const leaseTime = kind.duration({ least: SHORTEST_LEASE, longest: LONGEST_TIMER });
export const pollTime = kind.duration({ least: SHORTEST_POLL, longest: LONGEST_TIMER });
export const shutdownTime = kind.duration({ longest: LONGEST_TIMER });

const areClasses = (given: unknown) =>
  Array.isArray(given) && given.every((one) => typeof one === 'function');
const WORKER_OPTIONS = {
  concurrency: optional(whole),
  pollInterval: withDefault(pollTime, '1s'),
  lease: withDefault(leaseTime, '30s'),
  sagas: optional(kind.checked<Type[]>(areClasses, 'give an array of classes')),
  shutdownTimeout: withDefault(shutdownTime, '10s'),
  maxTakeovers: withDefault(whole, 5),
} satisfies OptionTable<SagaWorkerOptions>;
/** An option for each rule of the table of calls. */
const APPROVALS = Object.fromEntries(APPROVAL_RULES.map((rule) => [rule, optional(whole)])) as {
  readonly [Rule in ApprovalRule]: Option<number, number | undefined>;
} satisfies OptionTable<RequiredApprovals>;
/** A policy that is checked here, and read again with the definitions of sagas. */
const policy: Kind<RetryPolicy> = {
  read: (value, option, reader) => retryPolicy.read(value, option, reader) && value,
};
const drift = kind.oneOf('error', 'warn');

const OPTIONS = {
  ...DATABASE_SOURCE_OPTIONS,
  engine: optional(externalEngine),
  readFrom: optional(kind.anything<SagaDatabase | string>()),
  ...SHARD_OPTIONS,
  schema: withDefault(schemaName, DEFAULT_SCHEMA),
  migrate: withDefault(kind.flag, true),
  onDrift: withDefault(drift, 'error'),
  declared: optional(kind.declaredFiles),
  worker: withDefault(kind.orFalse(kind.object(WORKER_OPTIONS, 'false, or an object of its options')), {}),
  retry: optional(policy),
  compensationRetry: optional(policy),
  approvals: withDefault(kind.object(APPROVALS, 'an object such as { abort: 2 }'), {}),
  maxPayloadBytes: withDefault(whole, 2 ** 20),
  codec: optional(payloadCodec),
  retention: optional(kind.duration({ zero: 'would delete every saga as soon as it has ended' })),
  recoveryWindow: withDefault(kind.orFalse(kind.duration({ longest: LONGEST_RECOVERY_WINDOW })), '60s'),
  maxRecoveryBytes: withDefault(whole, 64 * 2 ** 20),
  partitions: optional(partitionPeriod),
  ambient: optional(kind.object(AMBIENT_OPTIONS, 'an object such as { transaction: () => … }')),
} satisfies OptionTable<SagaModuleOptions>;
/** The options of SagaModule that `SagaTest` has, too. */
export const TEST_OPTIONS = {
  retry: OPTIONS.retry,
  compensationRetry: OPTIONS.compensationRetry,
  maxPayloadBytes: optional(whole),
};
/** The environment variable that operators override `onDrift` by. */
const DRIFT_VARIABLE = 'SAGA_ON_DRIFT';

/**
 * Returns the options with defaults.
 * @throws SagaConfigurationError that names all invalid options, their values and how to fix them
 */
export function withDefaults(given: SagaModuleOptions) {
  return readModuleOptions('SagaModule', OPTIONS, given, (read, reader) => {
    const { worker, recoveryWindow, maxRecoveryBytes, approvals, shards, shardOf, ...options } = read;
    const { report } = reader;
    checkExternalEngine({ ...options, shards, shardOf }, report);
    const onDrift = process.env[DRIFT_VARIABLE] as 'error' | 'warn' | undefined;
    // Processes that run no sagas poll as well, and know how long a lease is.
    const { pollInterval, lease, ...own } = worker || reader.read(WORKER_OPTIONS, {});
    return {
      ...options,
      ...readDatabase(options, report),
      ...readStandby(options, report),
      ...readShardOptions({ ...options, shards, shardOf }, options.schema, report),
      onDrift: onDrift ? drift.read(onDrift, DRIFT_VARIABLE, reader)! : options.onDrift,
      ...{ pollInterval, lease },
      worker: worker ? own : undefined,
      approvals: withoutUndefined(approvals),
      // A window of 0 keeps nothing to put back. Another engine loses nothing.
      recovery:
        recoveryWindow && !options.engine ? { window: recoveryWindow, bytes: maxRecoveryBytes } : undefined,
      within: options.ambient?.run,
    };
  });
}
