import type { StoredSummary, StoreStats } from '../engine/ports/saga-store.js';

/** Returns the first sagas of several pages, newest first: their ids begin with the time of their start. */
export function newestFirst(pages: readonly (readonly StoredSummary[])[], limit: number): StoredSummary[] {
  return pages
    .flat()
    .sort((one, other) => (one.id < other.id ? 1 : -1))
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
  return {
    now: Math.max(...all.map(({ now }) => now)),
    sagas: [...sagas.values()],
    due: sum(({ due }) => due),
    overdue: sum(({ overdue }) => overdue),
    messages: sum(({ messages }) => messages),
    dead: sum(({ dead }) => dead),
    ...(oldestDue !== undefined && { oldestDue }),
    ...(oldestMessage !== undefined && { oldestMessage }),
  };
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
