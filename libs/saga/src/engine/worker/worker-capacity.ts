import { getHeapStatistics } from 'node:v8';

export interface WorkerCapacityOptions {
  /** Sagas advanced at once. Default: adapts itself. */
  readonly concurrency?: number;
  /** Sagas that may wait for a slot. Default: as many as can begin within a part of the lease. */
  readonly ahead?: number;
  /** Milliseconds. */
  readonly lease: number;
}

/** The bounds between which the number of slots adapts itself. */
export const SLOTS = { least: 100, most: 1_000 } as const;
/** The store is quick to answer, or slow (ms). */
const QUICK_ANSWER = 250;
const SLOW_ANSWER = 1_000;
/** A larger share of the heap in use leaves no room for more sagas. */
const HEAP_SHARE = 0.8;
/** Sagas wait in memory if they are expected to begin within this part of the lease: none of them is renewed. */
const AHEAD_SHARE = 1 / 6;
/**
 * With fewer sagas ended per second, each of which takes longer (ms), another process gains more if it runs what waits than
 * this one saves. Then it holds what starts within a second, and no more than it has slots, so that no slot is free during
 * a claim.
 */
const LEAST_RATE = 500;
const SHORT_SAGA = 100;
/** Bytes of the heap's limit for each saga that may wait. It takes some 2 kB, and its payloads are counted elsewhere. */
const HEAP_FOR_EACH = 64 * 2 ** 10;
/** The rate is measured over this time (ms), or longer: sagas end in groups. */
const WINDOW = 100;
/** In a longer time, the worker may have been idle, unless all slots were taken throughout. */
const LONGEST_WINDOW = 1_000;
/** What a window of 100 ms leaves of the rate before it: a single one says little. */
const REMAINS = 0.7;

/**
 * How many sagas a worker advances at once, and how many more it holds that wait for a slot.
 *
 * If no `concurrency` is set, the number of slots doubles while all are taken and the store answers quickly, and is
 * halved if the store is slow or the heap is nearly full. What finds no slot waits in memory with its lease, if it is
 * expected to begin soon: a saga that is released and claimed later costs two more writes.
 */
export class WorkerCapacity {
  /** Sagas advanced at once. */
  slots: number;
  /** The number of slots is not fixed. */
  readonly adapts: boolean;
  /** Sagas that may wait for a slot at most. */
  private readonly mostAhead: number;
  /** Sagas ended per second while all slots were taken, or at least as many as ever ended while some were free. */
  private rate = 0;
  private window = { since: 0, ended: 0, wasFull: false };
  /** Since when all slots have been taken. Undefined: some are free. */
  private fullSince: number | undefined;
  /** Milliseconds that the store took to answer last. */
  private answer = 0;

  constructor(
    private readonly options: WorkerCapacityOptions,
    /** Monotonic time (ms). */
    private readonly now: () => number,
    private readonly isHeapFull = heapIsFull,
    heapLimit = getHeapStatistics().heap_size_limit,
  ) {
    this.adapts = options.concurrency === undefined;
    this.slots = options.concurrency ?? SLOTS.least;
    this.mostAhead = Math.floor(heapLimit / HEAP_FOR_EACH);
  }

  /** Sagas that may wait for a slot. */
  get ahead(): number {
    if (this.options.ahead !== undefined) return this.options.ahead;
    const { slots } = this;
    const rate = Math.min(this.rate, this.mostNow);
    if (rate < LEAST_RATE && slots * 1_000 > rate * SHORT_SAGA) return Math.min(slots, Math.floor(rate));
    return Math.min(this.mostAhead, Math.floor((rate * this.options.lease * AHEAD_SHARE) / 1_000));
  }

  /** Every slot is taken. */
  full(): void {
    this.window.wasFull = true;
    this.fullSince ??= this.now();
  }

  /** A slot is free, and no saga waits for it. */
  free(): void {
    this.fullSince = undefined;
  }

  /** A saga has left its slot. */
  ended(): void {
    const { window } = this;
    window.ended += 1;
    const now = this.now();
    const length = now - window.since;
    if (length < WINDOW) return;
    const measured = (window.ended * 1_000) / length;
    if (length < LONGEST_WINDOW ? window.wasFull : this.wasFullSince(window.since))
      this.rate =
        this.rate === 0 ? measured : measured + (this.rate - measured) * REMAINS ** (length / WINDOW);
    // A worker with free slots does not show all that it can do.
    else if (length < LONGEST_WINDOW) this.rate = Math.max(this.rate, measured);
    this.window = { since: now, ended: 0, wasFull: false };
  }

  /** Sagas that end per second at most, as it looks while the slots stay taken. The sagas before may have been shorter. */
  private get mostNow(): number {
    const { since, ended } = this.window;
    if (!this.wasFullSince(since)) return Infinity;
    const length = this.now() - since;
    return length >= LONGEST_WINDOW ? (ended * 1_000) / length : Infinity;
  }

  private wasFullSince(time: number): boolean {
    return this.fullSince !== undefined && this.fullSince <= time;
  }

  /** @param duration milliseconds that a checkpoint took, the wait for its turn included */
  answered(duration: number): void {
    this.answer = duration;
  }

  /** Adapts the number of slots, after all were taken. True: there are more of them now. */
  adapt(): boolean {
    if (!this.adapts) return false;
    const before = this.slots;
    if (this.answer > SLOW_ANSWER || this.isHeapFull()) this.slots = Math.max(SLOTS.least, before / 2);
    else if (this.answer <= QUICK_ANSWER) this.slots = Math.min(SLOTS.most, before * 2);
    return this.slots > before;
  }
}

function heapIsFull(): boolean {
  const { used_heap_size, heap_size_limit } = getHeapStatistics();
  return used_heap_size > heap_size_limit * HEAP_SHARE;
}
