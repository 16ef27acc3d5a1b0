import type { Type } from '@nestjs/common';
import { type Kind, optional, type OptionTable } from '../../definition/options/option-reader.js';
import { readOptions } from '../../definition/options/read-options.js';
import { isKey, isUuid } from '../../engine/payload/storable-key.js';
import type { StoreTaskFilter, TaskPlace } from '../../engine/ports/stored-task.js';
import type { EngineCalls } from '../../shards/engine-calls.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import { type ApprovalTask, toApprovalTask } from '../views/approval-task.js';
import { CURSOR_RULE, key, pageSize, classOrName, tags } from './call-kinds.js';
import { type Page, pageOfRows } from './saga-filter.js';

/** A filter for `SagaService.tasks()`. A task must match all fields that are set. */
export interface TaskFilter {
  /** The class or the name of the saga. Default: all. */
  saga?: Type | string;
  /** The name of the step. Default: all. */
  step?: string;
  /** Tags that the saga must have. Default: any. */
  tags?: Record<string, string>;
  /** The number of tasks on a page, 1 to 1,000. Default: 50. */
  limit?: number;
  /** The `next` of the previous page. Default: the first page. */
  cursor?: string;
}

/** The last time that a Date can have; milliseconds since the epoch. */
const LATEST = 8.64e15;

const place: Kind<string, TaskPlace> = {
  read: (value, option, reader) => placeOf(value) ?? reader.refuse(value, option, CURSOR_RULE),
};
const TASK_FILTER = {
  saga: optional(classOrName),
  step: optional(key),
  tags: optional(tags),
  limit: pageSize,
  cursor: optional(place),
} satisfies OptionTable<TaskFilter>;

/**
 * Returns a page of the tasks that match a filter.
 * @throws SagaValidationError for an invalid filter
 */
export async function tasksPage(
  filter: TaskFilter | undefined,
  registry: SagaRegistry,
  engine: Pick<EngineCalls, 'tasks'>,
): Promise<Page<ApprovalTask>> {
  const query = toStoreTaskFilter(filter, registry);
  const tasks = await engine.tasks(query);
  return pageOfRows(tasks, query, toApprovalTask, cursorOf);
}

/** @throws SagaValidationError that names all invalid fields */
function toStoreTaskFilter(filter: TaskFilter | undefined, registry: SagaRegistry): StoreTaskFilter {
  const { saga, limit, cursor, ...fields } = readOptions('tasks()', TASK_FILTER, filter, 'filter');
  return {
    ...fields,
    after: cursor,
    name: saga === undefined ? undefined : registry.nameOf(saga),
    // One more than asked for tells whether there is a next page.
    limit: limit + 1,
  };
}

function cursorOf({ since, id, step }: TaskPlace): string {
  return Buffer.from(JSON.stringify([since, id, step])).toString('base64url');
}

/** Undefined: it is no cursor of a page. */
function placeOf(cursor: unknown): TaskPlace | undefined {
  if (typeof cursor !== 'string') return undefined;
  try {
    const [since, id, step] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const isTime = typeof since === 'number' && Math.abs(since) <= LATEST;
    return isTime && isUuid(id) && isKey(step) ? { since, id, step } : undefined;
  } catch {
    return undefined;
  }
}
