import type { MemoryRow } from './memory-row.js';

/**
 * Records which saga started which, as far as one may still wait for the other. A saga that was compensated or aborted
 * waits for no other, and will not be undone.
 */
export class MemoryFamilies {
  constructor(private readonly rows: ReadonlyMap<string, MemoryRow>) {}

  /** The sagas that a row was started by, the nearest first. */
  ancestors(row: MemoryRow): MemoryRow[] {
    const parent = row.saga.parent && this.rows.get(row.saga.parent.id);
    return parent && isLinked(parent) ? [parent, ...this.ancestors(parent)] : [];
  }

  children({ saga: { id } }: MemoryRow): MemoryRow[] {
    return [...this.rows.values()].filter((row) => row.saga.parent?.id === id && isLinked(row));
  }

  /** All that a row has started, directly or not. */
  descendants(row: MemoryRow): MemoryRow[] {
    return this.children(row).flatMap((child) => [child, ...this.descendants(child)]);
  }
}

function isLinked({ saga: { state } }: MemoryRow): boolean {
  return state.status !== 'compensated' && state.status !== 'aborted';
}
