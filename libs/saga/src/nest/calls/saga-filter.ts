import type { Type } from '@nestjs/common';
import { shown } from '../../shared/shown-value.js';
import { SagaValidationError } from '../../errors.js';
import type { StoreFilter } from '../../engine/ports/saga-store.js';
import { isKey } from '../../engine/payload/storable-key.js';
import { SAGA_STATUSES } from '../../definition/types/saga-status.js';
import { type SagaStatus } from '../../definition/types/saga-status.js';
import { readOptions } from './call-options.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import { isUuid, KEY_RULE, TAGS_RULE, storableTimeOf } from './start-options.js';
import { readTags } from './tags.js';

/** Which sagas `SagaService.find()` and `bulk()` mean: all of what is given has to fit. */
export interface SagaFilter {
  /** A class or a name. Default: all. */
  saga?: Type | string;
  /** One, or any of several. Default: all. */
  status?: SagaStatus | SagaStatus[];
  /** Exactly this one. Default: all. */
  correlationId?: string;
  /** Has all of these tags. Default: whatever tags. */
  tags?: Record<string, string>;
  /** Created from this time on. Default: ever. */
  createdAfter?: Date;
  /** Created before this time. Default: ever. */
  createdBefore?: Date;
  /** Sagas on a page, 1 to 1,000; default 50. */
  limit?: number;
  /** `next` of the page before. Default: the first page. */
  cursor?: string;
}

/** A part of what there is, and how to ask for the next. */
export interface Page<T> {
  /** In the order that the call promises. */
  readonly items: readonly T[];
  /** The cursor of the next page; undefined: this is the last one. */
  readonly next?: string;
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

/** What a filter says. @throws SagaValidationError when it has a field that there is not */
export function readFilter(call: string, filter: SagaFilter | undefined): Partial<SagaFilter> {
  return readOptions(`${call}(): filter`, filter, FILTERS);
}

/**
 * The filter as the store takes it.
 * @throws SagaValidationError naming every wrong field at once
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
