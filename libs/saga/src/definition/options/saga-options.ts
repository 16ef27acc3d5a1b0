import type { Type } from '@nestjs/common';
import type { Duration } from './duration.js';
import type { RetryPolicy } from './retry-policy.js';
import type { StandardSchema } from '../types/standard-schema.js';

/** Whether what is stored of a saga survives a crash of the database server in any case, or but for the last moment. */
export type Durability = 'durable' | 'relaxed';

/** What `@Saga` takes. */
export interface SagaOptions {
  /**
   * What the saga is called in the database, and by everybody who looks at it: 1 to 200 characters. Default: the class
   * name in kebab-case, without a trailing `Saga` (PlaceOrderSaga is `place-order`).
   */
  name?: string;
  /**
   * A whole number from 1; default 1. Several versions of one name may be registered side by side: running instances
   * stay on theirs, new ones start on the highest.
   */
  version?: number;
  /**
   * Running instances of these versions are moved to this one, each as soon as the graph allows it: all that has
   * happened to it has to have its place there, under its name. The others stay on theirs. Default: none.
   */
  upgradeFrom?: number | readonly number[];
  /**
   * What the input has to be, checked by `start()`, and where a `@SubSaga` step starts the saga, before anything is stored;
   * a wrong one is a SagaValidationError, or fails the step. A class with class-validator's decorators: the input is stored
   * as it was given. Or a Standard Schema (zod, valibot, arktype): what the schema makes of the input is stored, and given
   * to steps; for one input it has to make the same each time, or a start that is repeated is a conflict. Default: none.
   */
  input?: Type | StandardSchema;
  /** For this saga's steps; default: the module's. */
  retry?: RetryPolicy;
  /** For this saga's compensations; default: the module's. */
  compensationRetry?: RetryPolicy;
  /** For going forward, from when the saga may begin; past it the saga turns back. Default: none. */
  timeout?: Duration;
  /** A saga that has not finished by then, counted from when it may begin, is overdue, which is told once. Default: none. */
  sla?: Duration;
  /** `'suspend'`: a failure waits for an operator (retry, skip, cancel, abort) instead of turning back. Default `'compensate'`. */
  onFailure?: 'compensate' | 'suspend';
  /**
   * `'relaxed'`: starts and checkpoints do not wait for PostgreSQL's disk. A crash of the database server, not of a worker,
   * may take back what was stored within the last 600 ms (three times its `wal_writer_delay`): the saga goes on from an
   * earlier step, which is run again with the same idempotency key, or is forgotten if it had just been started. Default
   * `'durable'`.
   */
  durability?: Durability;
  /**
   * Semantic lock: of the sagas of this name with one key, one is active at a time; the others wait in the order
   * in which they were started. A function of the input alone, which gives 1 to 500 characters. Default: none.
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each saga has an input of its own
  lockKey?: (input: any) => string;
  /**
   * Sagas of this name, in all versions, that are advanced at once, in all processes together; the others wait
   * without a worker until one ends, or waits for a retry or a delay. Sagas; default: as many as the workers have room
   * for. Of several versions in a process, the highest one's counts.
   */
  concurrency?: number;
  /**
   * How long a saga is kept once it has ended; then it is deleted, with those that it started. `false`: for ever.
   * Default: the module's. Of several versions in a process, the highest one's counts, and for one that another saga
   * started, that one's.
   */
  retention?: Duration | false;
  /**
   * Fields of the input and of each step's result that are never shown to operators: paths with dots, `*` for any key
   * or index, as in `['card.number', 'lines.*.price']`. They are stored and given to steps as they are. Default: none.
   */
  redact?: readonly string[];
}
