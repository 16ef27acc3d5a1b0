import type { EntityManager } from 'typeorm';
import type { Duration } from '../../definition/options/duration.js';
import * as kind from '../../definition/options/kinds.js';
import { optional, type OptionTable, withDefault } from '../../definition/options/option-reader.js';
import { reportedOptions, withoutProblems } from '../../definition/options/read-options.js';
import type { NewSaga } from '../../engine/ports/stored-saga.js';
import { SagaValidationError } from '../../errors.js';
import { key, tags, time, transaction, uuid } from './call-kinds.js';

/** Options of `SagaService.start()`. */
export interface StartOptions {
  /** The id of the saga, a UUID. A second start with the same id returns the same saga. Default: a new UUIDv7. */
  id?: string;
  /**
   * The correlation id, unique per saga name, 1 to 255 characters. A second start with the same correlation id returns
   * the same saga. Default: the id.
   */
  correlationId?: string;
  /**
   * Starts the saga inside the caller's transaction: it exists only if the transaction commits. An aborted transaction
   * is rejected (`SAGA_TRANSACTION`). It is an EntityManager of TypeORM, or the transaction of the layer whose database
   * `SagaModule.forRoot({ database })` was given. Default: a separate transaction.
   */
  transaction?: object;
  /** TypeORM's name for `transaction`. It excludes `transaction`. Default: a separate transaction. */
  manager?: EntityManager;
  /**
   * A whole number from 0 to 100. Waiting raises the priority by one point every 10 s, so that no saga starves.
   * Default: 0.
   */
  priority?: number;
  /** The delay before the saga begins. It excludes `startAt`. Default: none. */
  delay?: Duration;
  /** The time at which the saga begins. A time in the past means at once. It excludes `delay`. Default: at once. */
  startAt?: Date;
  /**
   * The name of the shard on which the saga starts, if the application has shards (`SagaModule.forRoot({ shards })`). All
   * starts of one correlation id must give the same one. Default: `shardOf` of the module, or else the keys of the saga
   * decide.
   */
  shard?: string;
  /** Tags for finding the saga, at most 100; keys and values have 1 to 255 characters. Default: none. */
  tags?: Record<string, string>;
}

const START_OPTIONS = {
  id: optional(uuid),
  correlationId: optional(key),
  transaction: optional(transaction),
  manager: optional(kind.checked<EntityManager>(canQuery, 'give the EntityManager of a transaction')),
  priority: withDefault(kind.count(0, 100), 0),
  delay: optional(kind.duration()),
  startAt: optional(time),
  shard: optional(kind.anything<string>()),
  tags: optional(tags),
} satisfies OptionTable<StartOptions>;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

type StartFields = Pick<NewSaga, 'correlationId' | 'priority' | 'delay' | 'startAt' | 'tags'> &
  Pick<StartOptions, 'id' | 'transaction' | 'shard'>;

/**
 * Returns the options as they are stored. Each start calls this, so nothing is copied.
 * @throws SagaValidationError that names all invalid options
 */
export function toStartFields(options: StartOptions | undefined): StartFields {
  return options === undefined ? NO_OPTIONS : readStartOptions(options);
}

function readStartOptions(options: StartOptions): StartFields {
  return withoutProblems('start()', SagaValidationError, (report) => {
    const read = reportedOptions(START_OPTIONS, options, report);
    const fields: Mutable<StartFields> = read;
    if (read.delay !== undefined && read.startAt !== undefined)
      report('delay and startAt are both set', 'set only one of them');
    if (read.transaction !== undefined && read.manager !== undefined)
      report('transaction and manager are both set', 'set only one of them');
    if (read.id !== undefined) fields.id = read.id.toLowerCase();
    // Long ago is now, and some of it is outside of PostgreSQL's time.
    if (read.startAt !== undefined) fields.startAt = Math.max(0, read.startAt);
    if (read.manager !== undefined) fields.transaction = read.manager;
    return fields;
  });
}

const NO_OPTIONS = readStartOptions({});

function canQuery(manager: EntityManager): boolean {
  try {
    return typeof (manager as Partial<EntityManager> | null)?.query === 'function';
  } catch {
    return false;
  }
}
