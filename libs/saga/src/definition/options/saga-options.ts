import type { Type } from '@nestjs/common';
import type { Duration } from './duration.js';
import { type KeyOf, type Limit, limit, type RateLimit, rateLimit } from './limit-options.js';
import * as kind from './kinds.js';
import { type Kind, optional, type OptionsRead, type OptionTable, withDefault } from './option-reader.js';
import { retryPolicy, type RetryPolicy } from './retry-policy.js';
import { SCHEDULE_OPTIONS, type ScheduleOptions } from './schedule-options.js';
import type { StartTimeOf } from './time-of.js';
import { isStandardSchema, type StandardSchema } from '../types/standard-schema.js';

/**
 * Whether all stored progress of a saga survives a crash of the database server (`durable`), or all but the last moment
 * (`relaxed`).
 */
export type Durability = 'durable' | 'relaxed';

/** Options of `@Saga`. */
// oxlint-disable-next-line typescript/no-explicit-any -- each saga has an input of its own
export interface SagaOptions<Input = any> {
  /**
   * The name of the saga in the database and in all tools: 1 to 200 characters. Default: the class name in kebab-case,
   * without a trailing `Saga` (PlaceOrderSaga is `place-order`).
   */
  name?: string;
  /**
   * The version of the saga, a whole number from 1. Several versions of one name can be registered side by side:
   * running instances stay on theirs, and new ones start on the highest. Default: 1.
   */
  version?: number;
  /**
   * The versions whose running instances are moved to this version, each as soon as the new graph contains all of its
   * progress under the same step names. Other instances stay on their version. Default: none.
   */
  upgradeFrom?: number | readonly number[];
  /**
   * Validates the input in `start()` and in `@SubSaga` steps, before anything is stored. An invalid input throws
   * SagaValidationError, or fails the step. A class with class-validator's decorators: the input is stored as given. A
   * Standard Schema (zod, valibot, arktype): the output of the schema is stored and passed to steps. A schema must
   * return the same output for the same input, or a repeated start is a conflict. Default: none.
   */
  input?: Type | StandardSchema;
  /** The retry policy of this saga's steps. Default: the module's. */
  retry?: RetryPolicy;
  /** The retry policy of this saga's compensations. Default: the module's. */
  compensationRetry?: RetryPolicy;
  /**
   * The deadline for going forward, from the time at which the saga may begin, or a function of the input that returns
   * it, or a date. After it, the saga compensates, unless it was stuck or suspended. Default: none.
   */
  timeout?: Duration | StartTimeOf<Input>;
  /**
   * Starts a saga at each time of a cron expression, one in all processes together. If a process has several versions,
   * the highest one's schedule applies. Default: none.
   */
  schedule?: ScheduleOptions;
  /**
   * The time from the start after which an unfinished saga is overdue, or a function of the input that returns it, or a
   * date. It is reported once. Default: none.
   */
  sla?: Duration | StartTimeOf<Input>;
  /**
   * `'suspend'`: a failed saga does not compensate but waits for an operator (retry, resolve, cancel, abort). Default:
   * `'compensate'`.
   */
  onFailure?: 'compensate' | 'suspend';
  /**
   * `'relaxed'`: starts and checkpoints do not wait for PostgreSQL's disk. A crash of the database server, not of a
   * worker, may lose the progress of the last 600 ms (three times its `wal_writer_delay`). The saga then continues from
   * an earlier step, which runs again with the same idempotency key, or does not exist if it had just been started.
   * Default: `'durable'`.
   */
  durability?: Durability;
  /**
   * Returns the key of a semantic lock. Only one saga of this name with the same key is active at a time. The others
   * wait in the order in which they were started. Default: none.
   */
  lockKey?: KeyOf<Input, undefined>;
  /**
   * What `start()` does while another saga has the key of the semantic lock, or waits for it. `'queue'`: the new saga
   * waits. `'reject'`: `start()` throws SagaConflictError with the id of that saga, and stores none. A repeated start with
   * the same id or correlation id still returns its saga. A tick of a schedule is skipped. A sub-saga waits in any case,
   * because its parent cannot go on without it. It requires `lockKey`. Default: `'queue'`.
   */
  lockMode?: 'queue' | 'reject';
  /**
   * The maximum number of sagas of this name, in all versions, that run at once in all processes. The others wait
   * without a worker until one ends, or waits for a retry or a delay. If a process has several versions, the highest
   * one's value applies. With `{ count, key }`, each key, such as a tenant, has `count` of them, and the keys take turns:
   * a key with a million waiting sagas does not delay the first one of another. Default: no limit beyond the workers'
   * own.
   */
  limit?: number | Limit<Input, undefined>;
  /**
   * At most `count` sagas of this name, in all versions, begin their first step within any window of `per`, in all
   * processes together. The others wait without a worker, in the order in which workers took them up. With `key`, each
   * key, such as a tenant, has its own windows. Default: no limit.
   */
  rateLimit?: RateLimit<Input, undefined>;
  /**
   * How long an ended saga is kept. Then it is deleted with its sub-sagas. `false`: for ever. If a process has several
   * versions, the highest one's value applies. A sub-saga is kept as long as its parent. Default: the module's.
   */
  retention?: Duration | false;
  /**
   * Fields of the input and of each step's result that operators never see: paths with dots, and `*` for any key or
   * index, as in `['card.number', 'lines.*.price']`. They are stored and passed to steps unchanged. Default: none.
   */
  redact?: readonly string[];
}

/** Whether a class declares any validation is known only when the application starts, once class-validator is loaded. */
const inputSchema: Kind<Type | StandardSchema> = kind.checked(
  (value) => isStandardSchema(value) || (typeof value === 'function' && 'prototype' in value),
  "give a class with class-validator's decorators, or a Standard Schema (zod from 3.24, valibot from 1.0, arktype from 2.0)",
);

/** Paths of fields that operators never see. */
export const redactedPaths: Kind<readonly string[]> = kind.checked(
  (paths) => Array.isArray(paths) && paths.every(isPath),
  "give an array of field paths with dots between the keys, such as ['card.number', 'lines.*.price']",
);

function isPath(path: unknown): boolean {
  return typeof path === 'string' && path.split('.').every((key) => key !== '');
}

export const SAGA_DECORATOR_OPTIONS = {
  name: optional(kind.anything<string>()),
  version: withDefault(kind.count(), 1),
  upgradeFrom: optional(kind.anything<number | readonly number[]>()),
  input: optional(inputSchema),
  retry: optional(retryPolicy),
  compensationRetry: optional(retryPolicy),
  timeout: optional(
    kind.orFunction<Duration, number, StartTimeOf>(
      kind.duration({ zero: 'would make every saga compensate before its first step' }),
    ),
  ),
  schedule: optional(kind.object(SCHEDULE_OPTIONS, "{ cron: '0 2 * * *', timezone: 'Europe/Berlin' }")),
  sla: optional(
    kind.orFunction<Duration, number, StartTimeOf>(
      kind.duration({ zero: 'would make every saga overdue at once' }),
    ),
  ),
  onFailure: withDefault(kind.oneOf('compensate', 'suspend'), 'compensate'),
  durability: withDefault(kind.oneOf('durable', 'relaxed'), 'durable'),
  lockKey: optional(kind.func<KeyOf>()),
  lockMode: optional(kind.oneOf('queue', 'reject')),
  limit: optional(limit),
  rateLimit: optional(rateLimit),
  retention: optional(
    kind.orFalse(kind.duration({ zero: 'would delete every saga as soon as it has ended' })),
  ),
  redact: optional(redactedPaths),
} satisfies OptionTable<SagaOptions>;

type SagaOptionsRead = OptionsRead<typeof SAGA_DECORATOR_OPTIONS>;
/** The options that the graph of a saga has as they are read: durations in milliseconds, and defaults. */
export type OptionsOfGraph = Partial<Pick<SagaOptionsRead, 'durability'>> &
  Pick<
    SagaOptionsRead,
    'version' | 'input' | 'onFailure' | 'lockKey' | 'limit' | 'rateLimit' | 'retention' | 'redact'
  >;
