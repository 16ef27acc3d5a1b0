import type { Type } from '@nestjs/common';
import * as kind from '../../definition/options/kinds.js';
import {
  type Kind,
  optional,
  type OptionsRead,
  type OptionTable,
} from '../../definition/options/option-reader.js';
import { readOptions } from '../../definition/options/read-options.js';
import { SAGA_STATUSES, type SagaStatus } from '../../definition/types/saga-status.js';
import { isUuid } from '../../engine/payload/storable-key.js';
import type { StoreFilter } from '../../engine/ports/saga-store.js';
import type { EngineCalls, Found, FoundSagas } from '../../shards/engine-calls.js';
import type { Dated } from '../../store/postgres/read/standby.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import type { SagaSummary } from '../views/saga-snapshot.js';
import { toSummary } from '../views/to-snapshot.js';
import { CURSOR_RULE, key, pageSize, classOrName, storableTime, tags } from './call-kinds.js';

/** A filter for `SagaService.find()` and `SagaOperations.bulk()`. A saga must match all fields that are set. */
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

/** Returns a page of the rows that were found. One more than the page has says that there is a next page. */
export function pageOfRows<Row, Item>(
  rows: Found<Row>,
  { limit }: { readonly limit: number },
  toItem: (row: Row) => Item,
  cursorOf: (row: Row) => string,
): Page<Item> {
  const shown = rows.slice(0, limit - 1);
  const next = rows.length === limit ? cursorOf(shown.at(-1)!) : undefined;
  const { unreachable } = rows;
  return { items: shown.map(toItem), next, ...(unreachable && { unreachable }) };
}

/** More can only be the same ones again. */
const MOST_STATUSES = 1_000;
const statuses: Kind<SagaStatus | SagaStatus[], SagaStatus[]> = {
  read: (value, option, reader) => {
    const all: unknown[] = Array.isArray(value) ? value.slice(0, MOST_STATUSES) : [value];
    if (all.every((one) => SAGA_STATUSES.includes(one as SagaStatus))) return all as SagaStatus[];
    return reader.refuse(value, option, `give one of ${SAGA_STATUSES.join(', ')}, or several in an array`);
  },
};
const TIME_RANGE = {
  from: optional(storableTime),
  to: optional(storableTime),
} satisfies OptionTable<TimeRange>;
const range = optional(kind.object(TIME_RANGE, 'an object such as { from: new Date() }'));
const FILTER = {
  saga: optional(classOrName),
  status: optional(statuses),
  correlationId: optional(key),
  tags: optional(tags),
  createdAfter: optional(storableTime),
  createdBefore: optional(storableTime),
  startedAt: range,
  endedAt: range,
  step: optional(key),
  waitingFor: optional(key),
  overdue: optional(kind.flag),
  errorCode: optional(key),
  limit: pageSize,
  cursor: optional(kind.checked<string>(isUuid, CURSOR_RULE)),
} satisfies OptionTable<SagaFilter>;

/** Validates a filter. @throws SagaValidationError that names all invalid fields */
export function readFilter(call: string, filter: SagaFilter | undefined): OptionsRead<typeof FILTER> {
  return readOptions(`${call}()`, FILTER, filter, 'filter');
}

/** Returns the filter for the store. @throws SagaValidationError that names all invalid fields */
function toStoreFilter(filter: SagaFilter | undefined, registry: SagaRegistry): StoreFilter {
  const given = readFilter('find', filter);
  const { saga, createdAfter, createdBefore, startedAt, endedAt, cursor, limit, ...fields } = given;
  return {
    ...fields,
    name: saga === undefined ? undefined : registry.nameOf(saga),
    createdAfter: dateOf([createdAfter, startedAt?.from], Math.max),
    createdBefore: dateOf([createdBefore, startedAt?.to], Math.min),
    finishedAfter: endedAt?.from,
    finishedBefore: endedAt?.to,
    before: cursor,
    // One more than asked for tells whether there is a next page.
    limit: limit + 1,
  };
}

function dateOf(dates: (Date | undefined)[], which: (...times: number[]) => number): Date | undefined {
  const times = dates.flatMap((date) => date?.getTime() ?? []);
  return times.length === 0 ? undefined : new Date(which(...times));
}

/** Lists sagas: on the primary, or on a standby. */
export type ListSagas = (filter: StoreFilter) => Promise<Dated<FoundSagas>>;

/** Lists sagas on the primary. */
export function listOn(engine: Pick<EngineCalls, 'find'>): ListSagas {
  return async (filter) => ({ value: await engine.find(filter) });
}

/**
 * Returns a page of the sagas that match a filter.
 * @throws SagaValidationError for an invalid filter
 */
export async function findPage(
  filter: SagaFilter | undefined,
  registry: SagaRegistry,
  list: ListSagas,
): Promise<Page<SagaSummary>> {
  const query = toStoreFilter(filter, registry);
  const { value: rows, asOf } = await list(query);
  return { ...pageOfRows(rows, query, toSummary, ({ id }) => id), ...(asOf && { asOf }) };
}
