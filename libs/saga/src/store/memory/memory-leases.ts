import type { RenewResult } from '../../engine/ports/saga-store.js';
import type { HeldLease, Lease, StoredSaga } from '../../engine/ports/stored-saga.js';
import { isInProgress, type LostLease } from '../../machine/saga-state.js';
import { startTimeOf } from '../../machine/turn.js';
import { NOTICED_MS } from '../../shared/store-clock.js';
import type { MemoryRow } from './memory-row.js';

/** Losses kept of a saga of which nothing is recorded in between. */
const LOSSES_KEPT = 5;

/** A start time that has come is forgotten, so that it is known to have come, whatever the clock shows later. */
export function forgetStartTime({ saga }: MemoryRow, now: number): void {
  if (saga.state.startsAt !== undefined && startTimeOf(saga.state, now) === undefined)
    saga.state = { ...saga.state, startsAt: undefined };
}

/** Gives the lease of a due saga to a worker. A lease that another worker holds has run out, and is lost. */
export function leaseRow(row: MemoryRow, lease: Lease, now: number): void {
  const { saga } = row;
  row.woken = false;
  if (saga.lockedBy !== undefined) {
    saga.lostLeases = withLostLease(saga, now);
    saga.takeovers += 1;
    saga.losses += 1;
  }
  saga.leasedAt = now;
  saga.lockedBy = lease.worker;
  saga.epoch += 1;
  saga.dueAt = now + lease.duration;
}

export function renewLeases(
  rows: ReadonlyMap<string, MemoryRow>,
  leases: readonly HeldLease[],
  lease: Lease,
  now: number,
): RenewResult {
  const lost: string[] = [];
  const cancelled: { id: string; reason?: string }[] = [];
  const paused: string[] = [];
  for (const { id, epoch, seen = 0, reports } of leases) {
    const row = rows.get(id);
    if (row?.saga.epoch !== epoch || row.saga.lockedBy !== lease.worker) {
      lost.push(id);
      continue;
    }
    const { saga } = row;
    if (isInProgress(saga.state.status)) saga.dueAt = now + lease.duration;
    if (seen > now + NOTICED_MS) saga.leasedAt = Math.max(saga.leasedAt ?? 0, seen);
    if (reports !== undefined) saga.reports = reports;
    if (saga.cancelRequested) cancelled.push({ id, reason: saga.cancelRequested.reason });
    if (saga.pauseRequested) paused.push(id);
  }
  return { lost, cancelled, paused, now };
}

/** The leases that were lost since anything was recorded, with the one that ran out. */
function withLostLease(saga: StoredSaga, now: number): LostLease[] {
  const { lockedBy, leasedAt, createdAt, dueAt, takeovers, lostLeases = [] } = saga;
  const lost = { worker: lockedBy!, from: leasedAt ?? createdAt, until: dueAt!, takenOver: now };
  return [...(takeovers === 0 ? [] : lostLeases), lost].slice(-LOSSES_KEPT);
}
