import type { LockedRow } from './memory-row.js';

/**
 * Records which saga started which, as far as one may still wait for the other. A saga that was compensated or aborted
 * waits for no other, and will not be undone.
 */
export class MemoryFamilies {
  constructor(private readonly rows: Pick<ReadonlyMap<string, LockedRow>, 'get' | 'values'>) {}

  /** The sagas that a row was started by, the nearest first. */
  ancestors(row: LockedRow): LockedRow[] {
    const parent = row.saga.parent && this.rows.get(row.saga.parent.id);
    return parent && isLinked(parent) ? [parent, ...this.ancestors(parent)] : [];
  }

  children({ saga: { id } }: LockedRow): LockedRow[] {
    return [...this.rows.values()].filter((row) => row.saga.parent?.id === id && isLinked(row));
  }

  /** All that a row has started, directly or not. */
  descendants(row: LockedRow): LockedRow[] {
    return this.children(row).flatMap((child) => [child, ...this.descendants(child)]);
  }
}

export function isLinked({ saga: { state } }: LockedRow): boolean {
  return state.status !== 'compensated' && state.status !== 'aborted';
}
