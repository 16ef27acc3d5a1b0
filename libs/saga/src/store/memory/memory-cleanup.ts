import type { MemoryRow } from './memory-row.js';
import type { MemoryRows } from './memory-rows.js';

/** Deletes the sagas of a name that ended at this time or before, with those that they started, if all of these have ended. */
export function cleanUp(rows: MemoryRows, name: string, endedUntil: number): void {
  for (const root of [...rows.among(new Set([name]))]) {
    if (root.saga.parent || (root.saga.finishedAt ?? Infinity) > endedUntil) continue;
    const family = familyOf(root, rows);
    if (!family.every(({ saga }) => saga.finishedAt !== undefined)) continue;
    for (const row of family) {
      rows.remove(row);
      rows.deleted.add(row.saga.id);
    }
  }
}

function familyOf(row: MemoryRow, rows: MemoryRows): MemoryRow[] {
  const children = [...rows.byId.values()].filter(({ saga }) => saga.parent?.id === row.saga.id);
  return [row, ...children.flatMap((child) => familyOf(child, rows))];
}
