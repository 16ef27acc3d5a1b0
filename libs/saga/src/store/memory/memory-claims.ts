import { sizeOfSaga, SMALL_SAGA } from '../../engine/ports/payload-size.js';
import type { Claim, ClaimBytes, ClaimRequest, SagaStore } from '../../engine/ports/saga-store.js';
import { forgetStartTime, leaseRow } from './memory-leases.js';
import type { MemoryLockQueues } from './memory-lock-queues.js';
import { type MemoryRow, pendingSignalsOf, sagaOfRow } from './memory-row.js';
import type { MemoryRows } from './memory-rows.js';
import { ClaimedSlots, type MemorySlots } from './memory-slots.js';
import type { MemoryWakeup } from './memory-wakeup.js';

/** Gives the leases of due sagas to workers, within the slots of their names, their locks, and the room of the claim. */
export class MemoryClaims {
  constructor(
    private readonly rows: MemoryRows,
    private readonly slots: MemorySlots,
    private readonly lockQueues: MemoryLockQueues,
    private readonly wakeup: MemoryWakeup,
  ) {}

  claim({ lease, sagas, limit, bytes }: ClaimRequest, now: number): Claim {
    const { due, later } = this.unfinished(sagas, now);
    const taken: MemoryRow[] = [];
    const slots = new ClaimedSlots(this.slots, sagas, due, now);
    const room = new ClaimRoom(bytes);
    const left = slots.inTurns(due).filter((row) => {
      if (!slots.hasRoomFor(row)) return false;
      if (taken.length >= limit) return true;
      if (!room.fits(row)) return false;
      forgetStartTime(row, now);
      if (!this.lockQueues.enqueue(row, now)) return false;
      slots.take(row);
      room.take(row);
      taken.push(row);
      return false;
    });
    const nextDueAt = [...left, ...later].reduce((next, { saga }) => Math.min(next, saga.dueAt!), Infinity);
    for (const row of taken) leaseRow(row, lease, now);
    if (slots.close()) this.wakeup.announceDue();
    const next = Math.min(nextDueAt, slots.nextEnd());
    const nextDue = next === Infinity ? undefined : next;
    return { sagas: taken.map(sagaOfRow), now, nextDueAt: nextDue, heavy: room.heavy };
  }

  /** Makes sagas due again that were due when they were stored, and are not any more. */
  catchUp(sagas: Parameters<SagaStore['catchUp']>[0], now: number): void {
    for (const { saga, woken } of this.unfinished(sagas, now).later)
      if (saga.lockedBy === undefined && (woken || saga.dueAt! <= saga.updatedAt)) saga.dueAt = now;
  }

  /** The rows of these sagas that are due, now or later. */
  private unfinished(
    sagas: Parameters<SagaStore['catchUp']>[0],
    now: number,
  ): { due: MemoryRow[]; later: MemoryRow[] } {
    const due: MemoryRow[] = [];
    const later: MemoryRow[] = [];
    for (const row of this.rows.among(new Set(sagas.map(({ name }) => name)))) {
      const { name, version, dueAt } = row.saga;
      if (dueAt === undefined) continue;
      if (!sagas.some((saga) => saga.name === name && saga.version === version)) continue;
      (dueAt <= now ? due : later).push(row);
    }
    return { due, later };
  }
}

/** The room of a claim for large sagas, as ClaimBytes defines it. */
class ClaimRoom {
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

export function sizeOf(row: MemoryRow): number {
  return sizeOfSaga({ ...row.saga, signals: pendingSignalsOf(row) });
}
