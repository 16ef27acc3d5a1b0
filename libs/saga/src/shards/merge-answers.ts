import type { StoredSummary, StoreStats } from '../engine/ports/saga-store.js';
import type { StoredTask } from '../engine/ports/stored-task.js';

/** Returns the first sagas of several pages, newest first: their ids begin with the time of their start. */
export function newestFirst(pages: readonly (readonly StoredSummary[])[], limit: number): StoredSummary[] {
  return pages
    .flat()
    .sort((one, other) => (one.id < other.id ? 1 : -1))
    .slice(0, limit);
}

/** Returns the first tasks of several pages, oldest first. The tasks of a saga keep the order of their page. */
export function oldestTasksFirst(pages: readonly (readonly StoredTask[])[], limit: number): StoredTask[] {
  return pages
    .flat()
    .sort((one, other) => one.since - other.since || (one.id < other.id ? -1 : Number(one.id > other.id)))
    .slice(0, limit);
}

/** Returns the counts of several databases together. */
export function mergeStats(all: readonly StoreStats[]): StoreStats {
  const sagas = new Map<string, StoreStats['sagas'][number]>();
  for (const one of all.flatMap((stats) => stats.sagas)) {
    const key = `${one.name} ${one.version} ${one.status}`;
    sagas.set(key, { ...one, count: one.count + (sagas.get(key)?.count ?? 0) });
  }
  const sum = (count: (stats: StoreStats) => number) => all.reduce((total, one) => total + count(one), 0);
  const oldestDue = earliest(all.map((one) => one.oldestDue));
  const oldestMessage = earliest(all.map((one) => one.oldestMessage));
  const guards = all.map(({ timelineGuard }) => timelineGuard).filter((guard) => guard !== undefined);
  return {
    now: Math.max(...all.map(({ now }) => now)),
    sagas: [...sagas.values()],
    due: sum(({ due }) => due),
    overdue: sum(({ overdue }) => overdue),
    pausedSteps: distinct(all.flatMap(({ pausedSteps }) => pausedSteps)),
    messages: sum(({ messages }) => messages),
    dead: sum(({ dead }) => dead),
    ...(oldestDue !== undefined && { oldestDue }),
    ...(oldestMessage !== undefined && { oldestMessage }),
    ...(guards.length > 0 && { timelineGuard: guards.includes('off') ? ('off' as const) : ('on' as const) }),
  };
}

/** A step is paused on all shards, or on those that could be reached. */
function distinct(steps: StoreStats['pausedSteps']): StoreStats['pausedSteps'] {
  return [...new Map(steps.map((one) => [JSON.stringify([one.saga, one.step]), one])).values()];
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
