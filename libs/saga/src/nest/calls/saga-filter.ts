import type { Type } from '@nestjs/common';
import { shown } from '../../shared/shown-value.js';
import { SagaValidationError } from '../../errors.js';
import type { StoreFilter } from '../../engine/ports/saga-store.js';
import { isKey } from '../../engine/payload/storable-key.js';
import { SAGA_STATUSES, type SagaStatus } from '../../definition/types/saga-status.js';
import { readOptions } from './call-options.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import { isUuid, storableTimeOf } from './start-options.js';
import { KEY_RULE, readTags, TAGS_RULE } from '../../engine/payload/tags.js';

/** A filter for `SagaService.find()` and `bulk()`. A saga must match all fields that are set. */
export interface SagaFilter {
  /** The class or the name of the saga. Default: all. */
  saga?: Type | string;
  /** One status or several. Default: all. */
  status?: SagaStatus | SagaStatus[];
  /** The exact correlation id. Default: all. */
  correlationId?: string;
  /** Tags that the saga must have. Default: any. */
  tags?: Record<string, string>;
  /** The earliest creation time, inclusive. Default: any. */
  createdAfter?: Date;
  /** The latest creation time, exclusive. Default: any. */
  createdBefore?: Date;
  /** The time of the start, as with `createdAfter` and `createdBefore`. Default: any. */
  startedAt?: TimeRange;
  /** The time of the end: only sagas that have ended. Default: any, and sagas that have not ended. */
  endedAt?: TimeRange;
  /**
   * The name of a step at which the saga stands: it is in progress, next, waiting, or has failed permanently. Default: any.
   */
  step?: string;
  /** The name of the signal that a step waits for. Default: any. */
  waitingFor?: string;
  /** `true`: sagas that have passed the `sla` of their class, or ended after it. `false`: all others. Default: both. */
  overdue?: boolean;
  /** The `code` of the error of the failure, or of one of the last attempts of a step. Default: any. */
  errorCode?: string;
  /** The number of sagas on a page, 1 to 1,000. Default: 50. */
  limit?: number;
  /** The `next` of the previous page. Default: the first page. */
  cursor?: string;
}

/** A range of time. */
export interface TimeRange {
  /** The earliest time, inclusive. Default: any. */
  from?: Date;
  /** The latest time, exclusive. Default: any. */
  to?: Date;
}

/** A page of a list. */
export interface Page<T> {
  /** The items in the order of the call. */
  readonly items: readonly T[];
  /** The cursor of the next page. Undefined on the last page. */
  readonly next?: string;
  /** With `forRoot({ readFrom })`: the time whose commits the page shows. Undefined: the page is from the primary. */
  readonly asOf?: Date;
  /** The shards that could not be reached: their items are missing. Undefined: nothing is missing. */
  readonly unreachable?: readonly string[];
}

/** Items. */
export const LONGEST_PAGE = 1_000;
/** More can only be the same ones again. */
const MOST_STATUSES = 1_000;
const FILTERS = [
  'saga',
  'status',
  'correlationId',
  'tags',
  'createdAfter',
  'createdBefore',
  'startedAt',
  'endedAt',
  'step',
  'waitingFor',
  'overdue',
  'errorCode',
  'limit',
  'cursor',
] as const satisfies (keyof SagaFilter)[];

/** Validates a filter. @throws SagaValidationError for an unknown field */
export function readFilter(call: string, filter: SagaFilter | undefined): Partial<SagaFilter> {
  return readOptions(`${call}(): filter`, filter, FILTERS);
}

/**
 * Returns the filter for the store.
 * @throws SagaValidationError that names all invalid fields
 */
export function toStoreFilter(filter: SagaFilter | undefined, registry: SagaRegistry): StoreFilter {
  const given = readFilter('find', filter);
  const { saga, correlationId, limit = 50, cursor, step, waitingFor, overdue, errorCode } = given;
  const status = given.status === undefined ? undefined : statusesOf(given.status);
  const tags = given.tags === undefined ? undefined : readTags(given.tags);
  const times = timesOf(given);
  const problems = [
    given.status !== undefined &&
      !status &&
      `status is ${shown(given.status)}; give one of ${SAGA_STATUSES.join(', ')}, or several in an array`,
    ...Object.entries({ correlationId, step, waitingFor, errorCode }).map(
      ([name, value]) => value !== undefined && !isKey(value) && `${name} must be ${KEY_RULE}`,
    ),
    given.tags !== undefined && !tags && TAGS_RULE,
    ...times.problems,
    overdue !== undefined &&
      typeof overdue !== 'boolean' &&
      `overdue is ${shown(overdue)}; give true or false`,
    !(Number.isInteger(limit) && limit >= 1 && limit <= LONGEST_PAGE) &&
      `limit is ${shown(limit)}; give a whole number from 1 to ${LONGEST_PAGE}`,
    cursor !== undefined && !isUuid(cursor) && 'cursor is not valid; give the `next` of the previous page',
    typeof saga === 'string' && !isKey(saga) && `saga must be a class, or ${KEY_RULE}`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new SagaValidationError(`find(): ${problems.join('. ')}.`);
  return {
    name: saga === undefined ? undefined : registry.nameOf(saga),
    status,
    ...{ correlationId, tags, step, waitingFor, overdue, errorCode },
    ...times.bounds,
    before: cursor,
    // One more than asked for tells whether there is a next page.
    limit: limit + 1,
  };
}

/** The times of a filter, as far as they are valid. */
function timesOf({ createdAfter, createdBefore, ...given }: Partial<SagaFilter>) {
  const startedAt = rangeOf('startedAt', given.startedAt);
  const endedAt = rangeOf('endedAt', given.endedAt);
  const problems: string[] = [];
  const read = (name: string, value: unknown): number | undefined => {
    const time = value === undefined ? undefined : storableTimeOf(value);
    if (value !== undefined && time === undefined)
      problems.push(`${name} is not a valid Date; give a Date after 4713 BC`);
    return time;
  };
  const from = [read('createdAfter', createdAfter), read('startedAt.from', startedAt.from)];
  const to = [read('createdBefore', createdBefore), read('startedAt.to', startedAt.to)];
  const bounds = {
    createdAfter: dateOf(from, Math.max),
    createdBefore: dateOf(to, Math.min),
    finishedAfter: dateOf([read('endedAt.from', endedAt.from)], Math.max),
    finishedBefore: dateOf([read('endedAt.to', endedAt.to)], Math.min),
  };
  return { bounds, problems };
}

function dateOf(times: (number | undefined)[], which: (...times: number[]) => number): Date | undefined {
  const given = times.filter((time) => time !== undefined);
  return given.length === 0 ? undefined : new Date(which(...given));
}

function rangeOf(name: string, given: TimeRange | undefined): Partial<TimeRange> {
  return readOptions(`find(): filter: ${name}`, given, ['from', 'to']);
}

/** Undefined: one of them is no status. */
function statusesOf(given: unknown): SagaStatus[] | undefined {
  try {
    const statuses: unknown[] = Array.isArray(given) ? (given as unknown[]).slice(0, MOST_STATUSES) : [given];
    return statuses.every((one) => SAGA_STATUSES.includes(one as SagaStatus))
      ? (statuses as SagaStatus[])
      : undefined;
  } catch {
    // A proxy.
    return undefined;
  }
}
