import type { ClaimedSaga } from '../../engine/ports/saga-store.js';
import type { MemoryRow } from './memory-row.js';

/** The leases that count for the `concurrency` of a name. */
interface Slots {
  holders: readonly MemoryRow[];
  /** A saga was turned away. */
  crowded: boolean;
}

/** How many sagas of each name are leased at once. */
export class MemorySlots {
  private readonly names = new Map<string, Slots>();

  /** Leases of a name that count now. */
  taken(name: string, now: number): number {
    return this.of(name).holders.filter((row) => isLeased(row) && !isLapsed(row, now)).length;
  }

  of(name: string): Slots {
    const slots = this.names.get(name) ?? { holders: [], crowded: false };
    this.names.set(name, slots);
    return slots;
  }
}

/** One claim's places of the limited names that it asks for. */
export class ClaimedSlots {
  private readonly limits: ReadonlyMap<string, number>;
  /** Slots that were freed since the last claim. */
  private readonly cameFree = new Map<string, number>();
  private readonly full = new Set<string>();

  constructor(
    private readonly slots: MemorySlots,
    sagas: readonly ClaimedSaga[],
    due: readonly MemoryRow[],
    now: number,
  ) {
    this.limits = new Map(
      sagas.flatMap(({ name, concurrency }) => (concurrency === undefined ? [] : [[name, concurrency]])),
    );
    const wanted = new Set(due.map(({ saga }) => saga.name));
    for (const name of this.limits.keys())
      if (wanted.has(name) || slots.of(name).crowded) this.cameFree.set(name, this.prune(name, now));
  }

  /** Is there a place for this row, of whatever name? If not, it is turned away. */
  hasRoomFor({ saga: { name } }: MemoryRow): boolean {
    if (this.free(name) > 0) return true;
    this.slots.of(name).crowded = true;
    this.full.add(name);
    return false;
  }

  take(row: MemoryRow): void {
    const { name } = row.saga;
    if (!this.limits.has(name)) return;
    const slots = this.slots.of(name);
    slots.holders = [...slots.holders, row];
  }

  /** When the first lease ends among the names that turned a saga away. */
  nextEnd(): number {
    const ends = [...this.full].flatMap((name) => this.slots.of(name).holders.map(({ saga }) => saga.dueAt!));
    return Math.min(Infinity, ...ends);
  }

  /** True: places have come free that this claim has no use for, and others were turned away. */
  close(): boolean {
    const passedOn = [...this.cameFree]
      .filter(([name, count]) => count > 0 && this.free(name) > 0 && this.slots.of(name).crowded)
      .map(([name]) => name);
    for (const name of passedOn) this.slots.of(name).crowded = false;
    return passedOn.length > 0;
  }

  private free(name: string): number {
    return (this.limits.get(name) ?? Infinity) - this.slots.of(name).holders.length;
  }

  /** Drops those that are leased no more, and fences off the holders of leases that ran out. */
  private prune(name: string, now: number): number {
    const slots = this.slots.of(name);
    const before = slots.holders.length;
    for (const { saga } of slots.holders.filter((row) => isLeased(row) && isLapsed(row, now)))
      saga.epoch += 1;
    slots.holders = slots.holders.filter((row) => isLeased(row) && !isLapsed(row, now));
    return before - slots.holders.length;
  }
}

function isLeased({ saga }: MemoryRow): boolean {
  return saga.lockedBy !== undefined && saga.dueAt !== undefined;
}

function isLapsed({ saga }: MemoryRow, now: number): boolean {
  return saga.dueAt! <= now;
}
