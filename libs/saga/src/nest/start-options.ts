import type { EntityManager } from 'typeorm';
import { type Duration, toMilliseconds } from '../definition/duration.js';
import { SagaValidationError } from '../errors/saga-errors.js';
import type { NewSaga } from '../engine/saga-store.js';
import { isKey, LONGEST_KEY } from '../engine/storable-key.js';

export interface StartOptions {
  /** A UUID; default: a UUIDv7. The same again returns the same saga, started once. */
  id?: string;
  /** Unique per saga name, at most 255 characters: the same again returns the same saga, started once. */
  correlationId?: string;
  /** Starts inside the caller's transaction: no commit, no saga. */
  manager?: EntityManager;
  /** 0 to 100, default 0; waiting raises it (a point for each 10 s), so that nothing starves. */
  priority?: number;
  /** Begins this long after it is stored. */
  delay?: Duration;
  /** Begins at this time; at once if it is past. */
  startAt?: Date;
  /** For finding it again; not for large data. */
  tags?: Record<string, string>;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

type StartFields = Pick<NewSaga, 'correlationId' | 'priority' | 'delay' | 'startAt' | 'tags'> & {
  id?: string;
};

/**
 * The options as they are stored.
 * @throws SagaValidationError naming every wrong option at once
 */
export function toStartFields(options: StartOptions): StartFields {
  const { id, correlationId, priority = 0, delay, startAt, tags } = options;
  let delayMs: number | undefined;
  const problems = [
    wrongDelay(() => (delayMs = delay === undefined ? undefined : toMilliseconds(delay, 'delay'))),
    id !== undefined && !UUID.test(id) && `id ${JSON.stringify(id)} is not a UUID`,
    correlationId !== undefined && !isKey(correlationId) && `correlationId has to be ${KEY_RULE}`,
    !(Number.isInteger(priority) && priority >= 0 && priority <= 100) &&
      `priority is ${String(priority)}; give a whole number from 0 to 100`,
    startAt !== undefined &&
      !(startAt instanceof Date && !Number.isNaN(startAt.getTime())) &&
      'startAt is not a valid Date',
    delay !== undefined && startAt !== undefined && 'delay and startAt exclude each other; give one of them',
    tags !== undefined &&
      !(isRecord(tags) && Object.entries(tags).every(([k, v]) => isKey(k) && isKey(v))) &&
      `tags has to be an object whose keys and values are each ${KEY_RULE}`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new SagaValidationError(`start(): ${problems.join('. ')}.`);
  return {
    id: id?.toLowerCase(),
    correlationId,
    priority,
    delay: delayMs,
    // Long ago is now, and some of it is outside of PostgreSQL's time.
    startAt: startAt && Math.max(0, startAt.getTime()),
    tags,
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

const KEY_RULE = `a string of 1 to ${LONGEST_KEY} characters, without NUL or half surrogate pairs`;

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
