import type { StoredSaga } from '../../engine/ports/saga-store.js';
import type { LostLease } from '../../machine/saga-state.js';

/** Losses kept of a saga of which nothing is recorded in between. */
const LOSSES_KEPT = 5;

/** The leases that were lost since anything was recorded, with the one that ran out. */
export function withLostLease(saga: StoredSaga, now: number): LostLease[] {
  const { lockedBy, leasedAt, createdAt, dueAt, takeovers, lostLeases = [] } = saga;
  const lost = { worker: lockedBy!, from: leasedAt ?? createdAt, until: dueAt!, takenOver: now };
  return [...(takeovers === 0 ? [] : lostLeases), lost].slice(-LOSSES_KEPT);
}
