import type { Type } from '@nestjs/common';
import { shown } from '../../shared/shown-value.js';
import { SagaValidationError } from '../../errors.js';
import type { StoreFilter } from '../../engine/ports/saga-store.js';
import { isKey } from '../../engine/payload/storable-key.js';
import { SAGA_STATUSES, type SagaStatus } from '../../definition/types/saga-status.js';
import { readOptions } from './call-options.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import { isUuid, KEY_RULE, TAGS_RULE, storableTimeOf } from './start-options.js';
import { readTags } from './tags.js';

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
  /** The number of sagas on a page, 1 to 1,000. Default: 50. */
  limit?: number;
  /** The `next` of the previous page. Default: the first page. */
  cursor?: string;
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

const LONGEST_PAGE = 1_000;
/** More can only be the same ones again. */
const MOST_STATUSES = 1_000;
const FILTERS = [
  'saga',
  'status',
  'correlationId',
  'tags',
  'createdAfter',
  'createdBefore',
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
  const { saga, correlationId, limit = 50, cursor } = given;
  const status = given.status === undefined ? undefined : statusesOf(given.status);
  const tags = given.tags === undefined ? undefined : readTags(given.tags);
  const [after, before] = [storableTimeOf(given.createdAfter), storableTimeOf(given.createdBefore)];
  const problems = [
    given.status !== undefined &&
      !status &&
      `status is ${shown(given.status)}; give one of ${SAGA_STATUSES.join(', ')}, or several in an array`,
    correlationId !== undefined && !isKey(correlationId) && `correlationId must be ${KEY_RULE}`,
    given.tags !== undefined && !tags && TAGS_RULE,
    given.createdAfter !== undefined &&
      after === undefined &&
      'createdAfter is not a valid Date; give a Date after 4713 BC',
    given.createdBefore !== undefined &&
      before === undefined &&
      'createdBefore is not a valid Date; give a Date after 4713 BC',
    !(Number.isInteger(limit) && limit >= 1 && limit <= LONGEST_PAGE) &&
      `limit is ${shown(limit)}; give a whole number from 1 to ${LONGEST_PAGE}`,
    cursor !== undefined && !isUuid(cursor) && 'cursor is not valid; give the `next` of the previous page',
    typeof saga === 'string' && !isKey(saga) && `saga must be a class, or ${KEY_RULE}`,
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new SagaValidationError(`find(): ${problems.join('. ')}.`);
  return {
    name: saga === undefined ? undefined : registry.nameOf(saga),
    status,
    correlationId,
    tags,
    createdAfter: after === undefined ? undefined : new Date(after),
    createdBefore: before === undefined ? undefined : new Date(before),
    before: cursor,
    // One more than asked for tells whether there is a next page.
    limit: limit + 1,
  };
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
