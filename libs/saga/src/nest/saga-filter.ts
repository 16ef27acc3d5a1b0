import type { Type } from '@nestjs/common';
import { SagaValidationError } from '../errors/saga-errors.js';
import type { StoreFilter } from '../engine/saga-store.js';
import type { SagaStatus } from '../machine/saga-state.js';
import type { SagaRegistry } from './saga.registry.js';
import { isUuid } from './start-options.js';

export interface SagaFilter {
  /** A class or a name. */
  saga?: Type | string;
  status?: SagaStatus | SagaStatus[];
  correlationId?: string;
  /** All of these. */
  tags?: Record<string, string>;
  /** From this time on. */
  createdAfter?: Date;
  /** Before this time. */
  createdBefore?: Date;
  /** 1 to 1,000; default 50. */
  limit?: number;
  /** `next` of the page before. */
  cursor?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; undefined: this is the last one. */
  readonly next?: string;
}

const LONGEST_PAGE = 1_000;

/** @throws SagaValidationError for a limit or a cursor that is none */
export function toStoreFilter(filter: SagaFilter, registry: SagaRegistry): StoreFilter {
  const limit = filter.limit ?? 50;
  if (!Number.isInteger(limit) || limit < 1 || limit > LONGEST_PAGE) {
    throw new SagaValidationError(
      `find(): limit is ${String(limit)}; give a whole number from 1 to ${LONGEST_PAGE}.`,
    );
  }
  if (filter.cursor !== undefined && !isUuid(filter.cursor)) {
    throw new SagaValidationError('find(): cursor is not one; give the `next` of the page before.');
  }
  return {
    name: filter.saga === undefined ? undefined : registry.nameOf(filter.saga),
    status: filter.status === undefined ? undefined : [filter.status].flat(),
    correlationId: filter.correlationId,
    tags: filter.tags,
    createdAfter: filter.createdAfter,
    createdBefore: filter.createdBefore,
    before: filter.cursor,
    // One more than asked for tells whether there is a next page.
    limit: limit + 1,
  };
}
