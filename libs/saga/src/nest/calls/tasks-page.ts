import type { Type } from '@nestjs/common';
import { SagaValidationError } from '../../errors.js';
import { isKey } from '../../engine/payload/storable-key.js';
import { KEY_RULE, readTags, TAGS_RULE } from '../../engine/payload/tags.js';
import type { StoreTaskFilter, TaskPlace } from '../../engine/ports/stored-task.js';
import type { EngineCalls } from '../../shards/engine-calls.js';
import { shown } from '../../shared/shown-value.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import { type ApprovalTask, toApprovalTask } from '../views/approval-task.js';
import { readOptions } from './call-options.js';
import { LONGEST_PAGE, type Page } from './saga-filter.js';
import { isUuid } from './start-options.js';

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

const FILTERS = ['saga', 'step', 'tags', 'limit', 'cursor'] as const satisfies (keyof TaskFilter)[];

/** The last time that a Date can have; milliseconds since the epoch. */
const LATEST = 8.64e15;

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
  const shownTasks = tasks.slice(0, query.limit - 1);
  const next = tasks.length === query.limit ? cursorOf(shownTasks.at(-1)!) : undefined;
  const { unreachable } = tasks;
  return { items: shownTasks.map(toApprovalTask), next, ...(unreachable && { unreachable }) };
}

/** @throws SagaValidationError that names all invalid fields */
function toStoreTaskFilter(filter: TaskFilter | undefined, registry: SagaRegistry): StoreTaskFilter {
  const given = readOptions('tasks(): filter', filter, FILTERS);
  const { saga, step, limit = 50, cursor } = given;
  const tags = given.tags === undefined ? undefined : readTags(given.tags);
  const after = cursor === undefined ? undefined : placeOf(cursor);
  const problems = [
    typeof saga === 'string' && !isKey(saga) && `saga must be a class, or ${KEY_RULE}`,
    step !== undefined && !isKey(step) && `step must be ${KEY_RULE}`,
    given.tags !== undefined && !tags && TAGS_RULE,
    !(Number.isInteger(limit) && limit >= 1 && limit <= LONGEST_PAGE) &&
      `limit is ${shown(limit)}; give a whole number from 1 to ${LONGEST_PAGE}`,
    cursor !== undefined && !after && 'cursor is not valid; give the `next` of the previous page',
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new SagaValidationError(`tasks(): ${problems.join('. ')}.`);
  return {
    name: saga === undefined ? undefined : registry.nameOf(saga),
    ...{ step, tags, after },
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
