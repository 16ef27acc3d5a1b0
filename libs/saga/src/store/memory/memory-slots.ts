import type { ClaimedSaga } from '../../engine/ports/saga-store.js';
import { type MemoryRow, rank } from './memory-row.js';

/** The leases that count for the `limit` of a name. */
interface Slots {
  holders: readonly MemoryRow[];
  /** A saga was turned away. */
  crowded: boolean;
  /** The key of the saga that was taken last: its turn is over. */
  lastKey: string;
}

/** How many sagas of each name are leased at once. */
export class MemorySlots {
  private readonly names = new Map<string, Slots>();

  /** Leases of a saga's name, and of its key if it has one, that count now. */
  taken({ name, limitKey }: MemoryRow['saga'], now: number): number {
    const counts = ({ saga }: MemoryRow) => limitKey === undefined || saga.limitKey === limitKey;
    return this.of(name).holders.filter((row) => counts(row) && isLeased(row) && !isLapsed(row, now)).length;
  }

  of(name: string): Slots {
    const slots = this.names.get(name) ?? { holders: [], crowded: false, lastKey: '' };
    this.names.set(name, slots);
    return slots;
  }
}

/** One claim's places of the limited names that it asks for. */
export class ClaimedSlots {
  private readonly limits: ReadonlyMap<string, { readonly count: number; readonly keyed?: boolean }>;
  /** The sagas that have left their slots since the last claim. */
  private readonly cameFree = new Map<string, readonly MemoryRow[]>();
  private readonly full = new Set<string>();

  constructor(
    private readonly slots: MemorySlots,
    sagas: readonly ClaimedSaga[],
    due: readonly MemoryRow[],
    now: number,
  ) {
    this.limits = new Map(
      sagas.flatMap(({ name, maxLeases: count, keyed }) =>
        count === undefined ? [] : [[name, { count, keyed }]],
      ),
    );
    const wanted = new Set(due.map(({ saga }) => saga.name));
    for (const name of this.limits.keys())
      if (wanted.has(name) || slots.of(name).crowded) this.cameFree.set(name, this.prune(name, now));
  }

  /** Returns rows in the order in which they are taken: the most urgent first, and the keys of a name in turns. */
  inTurns(due: readonly MemoryRow[]): MemoryRow[] {
    const byRank = [...due].sort((a, b) => rank(a) - rank(b));
    for (const [name, { keyed }] of this.limits) {
      if (!keyed) continue;
      const own = [...byRank.keys()].filter((n) => byRank[n]!.saga.name === name);
      const turns = this.turnsOf(
        name,
        own.map((n) => byRank[n]!),
      );
      own.forEach((n, turn) => (byRank[n] = turns[turn]!));
    }
    return byRank;
  }

  /** Rows that find no slot come last: they do not take the turn of another name. */
  private turnsOf(name: string, rows: readonly MemoryRow[]): MemoryRow[] {
    const { lastKey } = this.slots.of(name);
    const places = new Map<string, number>();
    const placed = rows.map((row) => {
      const key = keyOf(row);
      const place = (places.get(key) ?? this.held(row)) + 1;
      places.set(key, place);
      return { row, place, isPast: key <= lastKey, key };
    });
    const order = (a: (typeof placed)[number], b: typeof a) =>
      a.place - b.place || Number(a.isPast) - Number(b.isPast) || (a.key < b.key ? -1 : 1);
    return placed.sort(order).map(({ row }) => row);
  }

  /** Is there a place for this row, of whatever name? If not, it is turned away. */
  hasRoomFor(row: MemoryRow): boolean {
    if (this.free(row) > 0) return true;
    const { name } = row.saga;
    this.slots.of(name).crowded = true;
    this.full.add(name);
    return false;
  }

  take(row: MemoryRow): void {
    const { name } = row.saga;
    const limit = this.limits.get(name);
    if (!limit) return;
    const slots = this.slots.of(name);
    slots.holders = [...slots.holders, row];
    if (limit.keyed) slots.lastKey = keyOf(row);
  }

  /** When the first lease ends among the names that turned a saga away. */
  nextEnd(): number {
    const ends = [...this.full].flatMap((name) => this.slots.of(name).holders.map(({ saga }) => saga.dueAt!));
    return Math.min(Infinity, ...ends);
  }

  /** True: places have come free that this claim has no use for, and others were turned away. */
  close(): boolean {
    const passedOn = [...this.cameFree]
      .filter(([name, rows]) => this.slots.of(name).crowded && rows.some((row) => this.free(row) > 0))
      .map(([name]) => name);
    for (const name of passedOn) this.slots.of(name).crowded = false;
    return passedOn.length > 0;
  }

  private free(row: MemoryRow): number {
    return (this.limits.get(row.saga.name)?.count ?? Infinity) - this.held(row);
  }

  /** The slots that are taken of its name, or of its key. */
  private held(row: MemoryRow): number {
    const { name } = row.saga;
    const { holders } = this.slots.of(name);
    if (!this.limits.get(name)?.keyed) return holders.length;
    return holders.filter((holder) => keyOf(holder) === keyOf(row)).length;
  }

  /** Drops those that are leased no more, and fences off the holders of leases that ran out. */
  private prune(name: string, now: number): readonly MemoryRow[] {
    const slots = this.slots.of(name);
    const before = slots.holders;
    for (const { saga } of before.filter((row) => isLeased(row) && isLapsed(row, now))) saga.epoch += 1;
    slots.holders = before.filter((row) => isLeased(row) && !isLapsed(row, now));
    return before.filter((row) => !slots.holders.includes(row));
  }
}

/** Sagas that were started before the limit had a key share the empty one. */
function keyOf({ saga }: MemoryRow): string {
  return saga.limitKey ?? '';
}

function isLeased({ saga }: MemoryRow): boolean {
  return saga.lockedBy !== undefined && saga.dueAt !== undefined;
}

function isLapsed({ saga }: MemoryRow, now: number): boolean {
  return saga.dueAt! <= now;
}
