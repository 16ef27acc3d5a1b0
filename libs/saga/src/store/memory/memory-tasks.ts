import {
  compareTasks,
  type StoredTask,
  type StoreTaskFilter,
  tasksOf,
} from '../../engine/ports/stored-task.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { MemoryRow } from './memory-row.js';

/**
 * The tasks of these sagas, the oldest first: as they were recorded, and not by a look at the states, so that a test which
 * compares the two finds what was not recorded.
 */
export function findTasks(
  rows: Iterable<MemoryRow>,
  filter: StoreTaskFilter,
  load: (row: MemoryRow) => StoredSaga,
): StoredTask[] {
  return [...rows]
    .filter(({ openApprovals }) => openApprovals.length > 0)
    .flatMap((row) => tasksOf(load(row), row.openApprovals))
    .filter((task) => matches(task, filter))
    .sort(compareTasks)
    .slice(0, filter.limit);
}

function matches(task: StoredTask, { name, step, tags = {}, after }: StoreTaskFilter): boolean {
  return (
    (name === undefined || task.name === name) &&
    (step === undefined || task.step === step) &&
    Object.entries(tags).every(([key, value]) => task.tags?.[key] === value) &&
    (after === undefined || compareTasks(task, after) > 0)
  );
}
