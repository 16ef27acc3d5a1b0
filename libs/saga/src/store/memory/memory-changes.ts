import { type SagaChange, type SeenSaga, seenOf } from '../../engine/ports/saga-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { MemoryRow } from './memory-row.js';

/** Returns the sagas that differ from what was seen of them. */
export function changesOf(
  rows: ReadonlyMap<string, MemoryRow>,
  watched: readonly SeenSaga[],
  toLoaded: (row: MemoryRow) => StoredSaga,
): SagaChange[] {
  return watched.flatMap(({ id, seen }) => {
    const row = rows.get(id);
    const now = row ? `${seenOf(row.saga)}${row.saga.reports ?? ''}` : '';
    return now === seen ? [] : { id, seen: now, saga: row && toLoaded(row) };
  });
}
