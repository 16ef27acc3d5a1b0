import type { Checkpoint, CheckpointResult } from '../../../engine/ports/checkpoint.js';
import type { SagaRevision } from '../../../engine/ports/put-back.js';

/** What the statement of checkpoints returns. */
export interface SavedRow {
  /** Null: all. One that is null: nothing was done, for the level of the transaction. */
  readonly saved: readonly (string | null)[] | null;
}

/** @param found how far those sagas have come that were not saved */
export function resultsOf(
  checkpoints: readonly Checkpoint[],
  saved: ReadonlySet<string | null>,
  found: readonly SagaRevision[],
): CheckpointResult[] {
  const rows = new Map(found.map((row) => [row.id, row]));
  return checkpoints.map(({ id, epoch, number }) => {
    if (saved.has(id)) return 'saved';
    const row = rows.get(id);
    if (row?.epoch !== epoch) return 'fenced';
    return row.checkpoints >= number ? 'saved' : 'cancelled';
  });
}
