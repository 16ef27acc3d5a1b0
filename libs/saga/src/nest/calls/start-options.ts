import { types } from 'node:util';
import type { EntityManager } from '../../definition/types/entity-manager.js';
import { type Duration, toMilliseconds } from '../../definition/options/duration.js';
import { shown } from '../../shared/shown-value.js';
import { SagaValidationError } from '../../errors.js';
import type { NewSaga } from '../../engine/ports/stored-saga.js';
import { isKey } from '../../engine/payload/storable-key.js';
import { KEY_RULE, readTags, TAGS_RULE } from '../../engine/payload/tags.js';
import { readOptions } from './call-options.js';

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

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const START_OPTIONS = [
  'id',
  'correlationId',
  'transaction',
  'manager',
  'priority',
  'delay',
  'startAt',
  'shard',
  'tags',
] as const satisfies (keyof StartOptions)[];

type StartFields = Pick<NewSaga, 'correlationId' | 'priority' | 'delay' | 'startAt' | 'tags'> &
  Pick<StartOptions, 'id' | 'transaction' | 'shard'>;

/**
 * Returns the options as they are stored.
 * @throws SagaValidationError that names all invalid options
 */
export function toStartFields(options: StartOptions | undefined): StartFields {
  const given = readOptions('start(): options', options, START_OPTIONS);
  const { id, correlationId, transaction, manager, priority = 0, delay, startAt, tags, shard } = given;
  const storedTags = tags === undefined ? undefined : readTags(tags);
  const startTime = timeOf(startAt);
  let delayMs: number | undefined;
  const problems = [
    wrongDelay(() => (delayMs = delay === undefined ? undefined : toMilliseconds(delay, 'delay'))),
    id !== undefined && !isUuid(id) && `id ${shown(id)} is not a UUID`,
    correlationId !== undefined && !isKey(correlationId) && `correlationId must be ${KEY_RULE}`,
    !(Number.isInteger(priority) && priority >= 0 && priority <= 100) &&
      `priority is ${shown(priority)}; give a whole number from 0 to 100`,
    startAt !== undefined && startTime === undefined && 'startAt is not a valid Date',
    delay !== undefined && startAt !== undefined && 'delay and startAt are both set; set only one of them',
    tags !== undefined && !storedTags && TAGS_RULE,
    manager !== undefined &&
      !canQuery(manager) &&
      'manager is not an EntityManager; give the EntityManager of a transaction',
    transactionFlaw(transaction) ?? false,
    transaction !== undefined &&
      manager !== undefined &&
      'transaction and manager are both set; set only one of them',
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new SagaValidationError(`start(): ${problems.join('. ')}.`);
  return {
    id: id?.toLowerCase(),
    correlationId,
    priority,
    delay: delayMs,
    // Long ago is now, and some of it is outside of PostgreSQL's time.
    startAt: startTime === undefined ? undefined : Math.max(0, startTime),
    tags: storedTags,
    shard,
    transaction: transaction ?? manager,
  };
}

function wrongDelay(read: () => unknown): string | false {
  try {
    read();
    return false;
  } catch (error) {
    if (!(error instanceof SagaValidationError)) throw error;
    return error.message;
  }
}

/** PostgreSQL knows no time before: 4713 BC. */
const EARLIEST = Date.UTC(-4713, 10, 24);

/** The time of a Date, whatever its own methods say. Undefined: it is none, or not valid. */
function timeOf(date: unknown): number | undefined {
  if (!types.isDate(date)) return undefined;
  const time = Date.prototype.getTime.call(date);
  return Number.isNaN(time) ? undefined : time;
}

/** Returns the time of a Date that PostgreSQL can store. Undefined: it is no valid Date, or earlier than PostgreSQL's first time. */
export function storableTimeOf(date: unknown): number | undefined {
  const time = timeOf(date);
  return time !== undefined && time >= EARLIEST ? time : undefined;
}

function canQuery(manager: unknown): boolean {
  try {
    return typeof (manager as Partial<EntityManager> | null)?.query === 'function';
  } catch {
    return false;
  }
}

/** Returns why this cannot be a transaction of any database layer. */
export function transactionFlaw(transaction: unknown): string | undefined {
  if (transaction === undefined || isObject(transaction)) return undefined;
  return `transaction is ${shown(transaction)}; give the transaction of the application's database layer`;
}

function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}
