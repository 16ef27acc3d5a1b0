import { Inject, Injectable, Optional } from '@nestjs/common';
import { type Duration, SagaOperations } from 'nestjs-durable-saga';
import type { SagaStats } from 'nestjs-durable-saga/operators';
import {
  LONGEST_TIMER,
  type OptionTable,
  type OptionsRead,
  inTime,
  kind,
  needsOperator,
  optional,
  readOptions,
  serializeError,
  withDefault,
} from 'nestjs-durable-saga/internal';
import { secondsSince } from './state-gauges.js';

/** Limits beyond which `SagaHealthIndicator.isHealthy()` reports down. */
export interface SagaHealthOptions {
  /** The maximum time for which a due saga may wait for a worker. Default: no limit. */
  maxOldestDue?: Duration;
  /** The maximum number of sagas that need attention. Default: no limit. */
  maxStuck?: number;
  /** The maximum time for the database to answer. Default: `'3s'`. */
  timeout?: Duration;
}

/** The result of an indicator of `@nestjs/terminus`. */
export type SagaHealth<Key extends string> = Record<
  Key,
  {
    readonly status: 'up' | 'down';
    /** The reason for which it is down. */
    readonly message?: string;
    /** The number of sagas that wait for a worker, and the age of the oldest in seconds. */
    readonly due?: number;
    readonly oldestDue?: number;
    /** The number of sagas that need attention. */
    readonly stuck?: number;
    /** The shards that cannot be reached, which are not counted. Others work, so that they alone do not make it down. */
    readonly unreachable?: readonly string[];
    /** `'off'`: the server cannot tell its timeline, so that nothing is put back after a failover that loses commits. */
    readonly timelineGuard?: 'on' | 'off';
  }
>;

/** Reports whether sagas make progress, for health checks of `@nestjs/terminus`. */
@Injectable()
export class SagaHealthIndicator {
  /** Without SagaModule SagaTelemetry says what is missing. */
  constructor(@Optional() @Inject(SagaOperations) private readonly operations: SagaOperations) {}

  /**
   * Returns the health of sagas: `health.check([() => indicator.isHealthy('sagas', { maxOldestDue: '1m', maxStuck: 0
   * })])`.
   * @param key the key of the result
   * @throws SagaValidationError for invalid options
   */
  async isHealthy<const Key extends string>(key: Key, options?: SagaHealthOptions): Promise<SagaHealth<Key>> {
    const limits = readOptions('isHealthy()', HEALTH_OPTIONS, options);
    let health: SagaHealth<Key>[Key];
    try {
      health = judged(await inTime(limits.timeout, 'the database', this.operations.stats()), limits);
    } catch (error) {
      health = { status: 'down', message: serializeError(error).message };
    }
    return { [key]: health } as SagaHealth<Key>;
  }
}

const HEALTH_OPTIONS = {
  maxOldestDue: optional(kind.duration()),
  maxStuck: optional(kind.count(0)),
  timeout: withDefault(kind.duration({ longest: LONGEST_TIMER }), '3s'),
} satisfies OptionTable<SagaHealthOptions>;

function judged(
  { at, due, oldestDue: since, sagas, unreachable, timelineGuard }: SagaStats,
  { maxOldestDue = Infinity, maxStuck = Infinity }: OptionsRead<typeof HEALTH_OPTIONS>,
) {
  const oldestDue = secondsSince(since, at);
  const stuck = sagas
    .filter(({ status }) => needsOperator(status))
    .reduce((sum, { count }) => sum + count, 0);
  const problems = [
    oldestDue * 1_000 > maxOldestDue &&
      `the oldest due saga has waited for a worker for ${Math.round(oldestDue)} s`,
    stuck > maxStuck && `${stuck} saga(s) need attention`,
  ].filter((problem) => problem !== false);
  const figures = {
    due,
    oldestDue,
    stuck,
    ...(unreachable && { unreachable }),
    ...(timelineGuard && { timelineGuard }),
  };
  return problems.length > 0
    ? { status: 'down' as const, message: problems.join('; '), ...figures }
    : { status: 'up' as const, ...figures };
}
