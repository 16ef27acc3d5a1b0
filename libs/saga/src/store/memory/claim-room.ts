import { sizeOfSaga, SMALL_SAGA } from '../../engine/ports/payload-size.js';
import type { ClaimBytes } from '../../engine/ports/saga-store.js';
import type { MemoryRow } from './memory-row.js';
import { pendingSignalsOf } from './pending-signals.js';

/** The room of a claim for large sagas: what ClaimBytes says of it. */
export class ClaimRoom {
  /** A large saga has found no room. */
  heavy = false;
  private room: number;
  private alone: boolean;

  constructor({ room, alone }: ClaimBytes = { room: Infinity, alone: true }) {
    this.room = room;
    this.alone = alone;
  }

  fits(row: MemoryRow): boolean {
    const size = sizeOf(row);
    if (size <= SMALL_SAGA) return true;
    if (!this.heavy && (size <= this.room || this.alone)) return true;
    this.heavy = true;
    return false;
  }

  take(row: MemoryRow): void {
    const size = sizeOf(row);
    if (size <= SMALL_SAGA) return;
    this.room -= size;
    this.alone = false;
  }
}

function sizeOf(row: MemoryRow): number {
  return sizeOfSaga({ ...row.saga, signals: pendingSignalsOf(row) });
}
