import { PARTITIONS_RULE } from '../store/postgres/schema/saga-migrations.js';
import { type Partitions, PERIODS } from '../store/postgres/schema/partition-saga-tables.js';
import type { Type } from '@nestjs/common';
import { type Duration, LONGEST_TIMER, toMilliseconds } from '../definition/options/duration.js';
import { OptionReader } from '../definition/options/option-reader.js';
import { textOfFlaw, textOfProblems } from '../shared/diagnostic.js';
import { resolveRetryPolicy, type RetryPolicy } from '../definition/options/retry-policy.js';
import { SagaConfigurationError, SagaValidationError } from '../errors.js';
import { shown } from '../shared/shown-value.js';
import { DEFAULT_SCHEMA } from '../store/postgres/schema/saga-entities.js';
import type { OperatorAction } from '../engine/ports/operation.js';
import { serializeError } from '../engine/payload/serialize-error.js';
import type { PayloadCodec } from '../store/coded/payload-codec.js';
import { codecFlaw } from './codec-flaw.js';
import { schemaFlaw } from '../store/postgres/connection/schema-name.js';

/** What `SagaModule.forRoot()` takes. All of it is checked at start-up, and everything that is wrong is told at once. */
export interface SagaModuleOptions {
  /** Name of a TypeORM DataSource; default: the default one. */
  dataSource?: string;
  /** The tables' schema, which is theirs alone; default `'saga'`. */
  schema?: string;
  /** Apply pending migrations at start-up; default true. */
  migrate?: boolean;
  /**
   * What to do at start-up when a saga's graph has changed and its version has not, while instances of it are running.
   * `'error'`: SagaDriftError, nothing starts. `'warn'`: they keep the graph that they have, and those that may need what
   * the code has no longer get stuck instead of being run. Default `'error'`.
   */
  onDrift?: 'error' | 'warn';
  /** `false`: this process starts and queries sagas but runs none. Default: it runs all that it has. */
  worker?: false | SagaWorkerOptions;
  /** For steps of sagas that have no policy of their own. Default: 3 attempts, exponential, with jitter. */
  retry?: RetryPolicy;
  /** For compensations, likewise. Default: 10 attempts, exponential, with jitter. */
  compensationRetry?: RetryPolicy;
  /**
   * People who have to make the same call before it is carried out: 2 or more. The first ones are kept in the history as
   * proposals, and hold for as long as nothing else happens to the saga. Default: 1 for each.
   */
  approvals?: ApprovalCounts;
  /** Largest input or result as JSON, in bytes; default 1 MiB. A clear error above it. */
  maxPayloadBytes?: number;
  /**
   * Encodes, in the database, what sagas are given and give: inputs, results, errors, signals, approvals, reasons, and
   * the payloads of messages. What was stored before stays readable. The same for all processes over the database. Default:
   * none, it is stored as JSON.
   */
  codec?: PayloadCodec;
  /**
   * How long sagas are kept once they have ended, unless `@Saga({ retention })` says otherwise; then the workers delete
   * them, in small batches. Default: for ever.
   */
  retention?: Duration;
  /**
   * Keeps sagas in partitions of their tables, by the time at which they were started: what is over its retention goes
   * by dropping one, which costs nothing. For many millions of sagas that are kept for a while: see docs/retention.md
   * for what it costs. The first start with it converts the tables, and everybody who uses them waits for that. Default:
   * none.
   */
  partitions?: Partitions;
}

/** People who have to make the same call of an operator before it is carried out. */
export type ApprovalCounts = {
  /** For `abort()`: a whole number from 1. Default 1. */
  abort?: number;
  /** For `undo()`: a whole number from 1. Default 1. */
  undo?: number;
  /** For `skip()`: a whole number from 1. Default 1. */
  skip?: number;
};

/** How a process runs sagas. */
export interface SagaWorkerOptions {
  /** Sagas advanced at once; default 100. */
  concurrency?: number;
  /** The poll that is the guarantee; while LISTEN/NOTIFY works only every fifth one is made. Default `'1s'`. */
  pollInterval?: Duration;
  /** How long a saga is a worker's before others may take it over; renewed while it is advanced. Default `'30s'`. */
  lease?: Duration;
  /** Only these sagas, and the step handlers of these providers; default: every one of the application. */
  sagas?: Type[];
  /** How long steps under way may take to finish when the application stops; default `'10s'`. */
  shutdownTimeout?: Duration;
  /** A saga that lost its worker more often than this, with nothing recorded in between, is stuck; default 5. */
  maxTakeovers?: number;
}

/** Options with their defaults in, durations in milliseconds. */
export interface ResolvedSagaOptions {
  readonly dataSource?: string;
  readonly schema: string;
  readonly migrate: boolean;
  readonly onDrift: 'error' | 'warn';
  readonly pollInterval: number;
  readonly lease: number;
  readonly worker?: {
    readonly concurrency: number;
    readonly sagas?: readonly Type[];
    readonly shutdownTimeout: number;
    readonly maxTakeovers: number;
  };
  readonly retry?: RetryPolicy;
  readonly compensationRetry?: RetryPolicy;
  readonly approvals: { readonly [Action in OperatorAction]?: number };
  readonly maxPayloadBytes: number;
  readonly codec?: PayloadCodec;
  readonly retention?: number;
  readonly partitions?: Partitions;
}

const OPTIONS = [
  'dataSource',
  'schema',
  'migrate',
  'onDrift',
  'worker',
  'retry',
  'compensationRetry',
  'approvals',
  'maxPayloadBytes',
  'codec',
  'retention',
  'partitions',
] as const satisfies (keyof SagaModuleOptions)[];
const WORKER_OPTIONS = [
  'concurrency',
  'pollInterval',
  'lease',
  'sagas',
  'shutdownTimeout',
  'maxTakeovers',
] as const satisfies (keyof SagaWorkerOptions)[];
const APPROVALS = ['abort', 'undo', 'skip'] as const satisfies (keyof ApprovalCounts)[];
const SHORTEST_LEASE = 100;
const SHORTEST_POLL = 10;

/**
 * The options with their defaults.
 * @throws SagaConfigurationError naming everything that is wrong at once, with the value given and the mend
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

/** The options with their defaults, or all that is wrong with them. */
function readOptions(given: SagaModuleOptions): ResolvedSagaOptions | string[] {
  const problems: string[] = [];
  const reader = new OptionReader((problem, mend) => problems.push(textOfFlaw({ problem, mend })));
  const duration = (value: Duration, name: string, least: number): number => {
    const ms = attempt(() => toMilliseconds(value, name, LONGEST_TIMER)) ?? least;
    if (ms < least) problems.push(`${name} is ${shown(value)}; give at least ${least} ms`);
    return ms;
  };
  const whole = (value: number, name: string): number => {
    if (!Number.isInteger(value) || value < 1)
      problems.push(`${name} is ${shown(value)}; give a whole number from 1`);
    return value;
  };
  const retention = (value: Duration): number | undefined => {
    const ms = attempt(() => toMilliseconds(value, 'retention'));
    if (ms === 0)
      problems.push(
        'retention is 0, which deletes every saga as soon as it ends; remove it to keep sagas for ever',
      );
    return ms;
  };
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof SagaValidationError)) throw error;
      problems.push(error.message.replace(/\.$/, ''));
      return undefined;
    }
  };

  const options = reader.options(given, OPTIONS);
  const worker =
    options.worker === undefined || options.worker === false
      ? (options.worker ?? {})
      : (reader.object(options.worker, 'worker', WORKER_OPTIONS, 'false, or an object of its options') ?? {});
  if (options.migrate !== undefined && typeof options.migrate !== 'boolean')
    problems.push(`migrate is ${shown(options.migrate)}; give true or false`);
  if (options.dataSource !== undefined && typeof options.dataSource !== 'string')
    problems.push(`dataSource is ${shown(options.dataSource)}; give the name of a DataSource`);
  if (worker && worker.sagas !== undefined && !Array.isArray(worker.sagas))
    problems.push(`worker.sagas is ${shown(worker.sagas)}; give an array of classes`);
  const { schema = DEFAULT_SCHEMA } = options;
  const flaw = schemaFlaw(schema);
  if (flaw !== undefined) problems.push(flaw);
  const wrongCodec = codecFlaw(options.codec);
  if (wrongCodec) problems.push(wrongCodec.join('; '));
  const onDrift = options.onDrift ?? 'error';
  if (onDrift !== 'error' && onDrift !== 'warn')
    problems.push(`onDrift is ${shown(onDrift)}; give 'error' or 'warn'`);
  const { partitions } = options;
  if (partitions !== undefined && !Object.hasOwn(PERIODS, partitions))
    problems.push(`partitions is ${shown(partitions)}; ${PARTITIONS_RULE}`);
  if (options.retry !== undefined) attempt(() => resolveRetryPolicy(options.retry!, 'retry'));
  if (options.compensationRetry !== undefined)
    attempt(() => resolveRetryPolicy(options.compensationRetry!, 'compensationRetry'));
  const {
    concurrency = 100,
    pollInterval = '1s',
    lease = '30s',
    shutdownTimeout = '10s',
    maxTakeovers = 5,
  } = worker || {};
  const resolved: ResolvedSagaOptions = {
    dataSource: options.dataSource,
    schema,
    migrate: options.migrate ?? true,
    onDrift,
    pollInterval: duration(pollInterval, 'worker.pollInterval', SHORTEST_POLL),
    lease: duration(lease, 'worker.lease', SHORTEST_LEASE),
    worker:
      (worker && {
        concurrency: whole(concurrency, 'worker.concurrency'),
        sagas: worker.sagas,
        shutdownTimeout: duration(shutdownTimeout, 'worker.shutdownTimeout', 0),
        maxTakeovers: whole(maxTakeovers, 'worker.maxTakeovers'),
      }) ||
      undefined,
    retry: options.retry,
    compensationRetry: options.compensationRetry,
    approvals: readApprovals(options.approvals ?? {}, whole, reader),
    maxPayloadBytes: whole(options.maxPayloadBytes ?? 2 ** 20, 'maxPayloadBytes'),
    codec: options.codec,
    retention: options.retention === undefined ? undefined : retention(options.retention),
    partitions,
  };
  return problems.length > 0 ? problems : resolved;
}

function readApprovals(
  given: NonNullable<SagaModuleOptions['approvals']>,
  whole: (value: number, name: string) => number,
  reader: OptionReader,
): ResolvedSagaOptions['approvals'] {
  const read = reader.object(given, 'approvals', APPROVALS, 'an object such as { abort: 2 }') ?? {};
  return Object.fromEntries(
    Object.entries(read).map(([action, people]) => [action, whole(people, `approvals.${action}`)]),
  );
}
