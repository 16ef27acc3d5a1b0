import { SagaUnavailableError } from '../../errors.js';
import { type Clock, sleep, type Timer } from '../../shared/clock.js';
import { transientWait } from '../../shared/transient-wait.js';
import { TURN_BUDGET } from '../../shared/turn-budget.js';

export interface GroupWriterOptions<Item, Result> {
  /**
   * Writes a batch in one statement: all of it or nothing. Results in the order of the items.
   * @param isRepeated it may have been written already: the answer to an earlier try was lost
   */
  readonly write: (batch: Item[], isRepeated: boolean) => Promise<Result[]>;
  /** The statement may be repeated: its error is not about the items. */
  readonly isOutage: (error: unknown) => boolean;
  /** An outage that ends by itself, and so concerns all items. Of any other, one item may be the reason. */
  readonly isTransient: (error: unknown) => boolean;
  /** Statements in flight side by side, at most. */
  readonly lanes: number;
  /** Items in one statement, at most. */
  readonly maxBatch: number;
  /** What an item adds to a statement, in characters; default: nothing to speak of. */
  readonly sizeOf?: (item: Item) => number;
  /** Characters in one statement, at most, unless one item alone has more. Default: no bound. */
  readonly maxSize?: number;
  /** A further lane opens once this many items wait for each that is busy: batches stay large under load. */
  readonly itemsPerLane: number;
  /** Milliseconds for which an item is tried again in an outage; past it SagaUnavailableError. */
  readonly patience: number;
  readonly onOutage?: (error: unknown, retryIn: number) => void;
  readonly clock: Clock;
  readonly random: () => number;
}

/** A class, since it lives long: see NOTHING. */
class Pending<Item, Result> {
  constructor(
    readonly item: Item,
    /** Characters. */
    readonly size: number,
    /** Monotonic. */
    readonly since: number,
    readonly resolve: (result: Result) => void,
    readonly reject: (error: unknown) => void,
  ) {}
}

/** So many tries (3 s) after which an item waits alone for the end of an outage that may concern it alone. */
const TRIES_TOGETHER = 8;

/** Nothing waits longer than this (ms) for a lane that does not come back, as long as there is another. */
const LANE_MAX_WAIT_MS = 100;

/**
 * Group commit: what is written while a statement is in flight goes into the next one, so that a busy process
 * makes few commits and an idle one waits for nothing. Statements are tried again with backoff while an outage lasts; an
 * item that the database refuses fails alone, found by halving its batch. An item to which the database does not answer as
 * it should (a damaged row) is tried alone in the end, and keeps no lane from the others.
 */
export class GroupWriter<Item, Result> {
  private queue: Pending<Item, Result>[] = [];
  /** Characters of all that is in the queue. */
  private queueSize = 0;
  private busy = 0;
  /** The items that wait alone for the end of an outage, in no lane. */
  private alone = 0;
  private closed = false;
  private watch: Timer | undefined;
  private idle: (() => void)[] = [];

  constructor(private readonly options: GroupWriterOptions<Item, Result>) {}

  write(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const { clock, sizeOf } = this.options;
      const size = sizeOf?.(item) ?? 0;
      this.queue.push(new Pending(item, size, clock.monotonic(), resolve, reject));
      this.queueSize += size;
      // Items that arrive in the same turn of the event loop share a statement.
      if (this.queue.length === 1) queueMicrotask(() => this.openLanes());
      else if (this.isFull()) this.openLanes();
      this.watchLanes();
    });
  }

  /** From now on an outage is final. */
  hasten(): void {
    this.closed = true;
  }

  /** Resolves once everything given so far is written, or has failed. An outage is final from now on. */
  async close(): Promise<void> {
    this.hasten();
    while (this.queue.length > 0 || this.busy + this.alone > 0) {
      await new Promise<void>((resolve) => this.idle.push(resolve));
    }
  }

  private openLanes(): void {
    while (this.queue.length > 0 && this.busy < this.options.lanes && (this.busy === 0 || this.isFull())) {
      void this.runLane();
    }
  }

  /** Is there enough for a statement of its own? */
  private isFull(): boolean {
    const { itemsPerLane, maxSize = Infinity } = this.options;
    return this.queue.length >= itemsPerLane || this.queueSize >= maxSize;
  }

  /** A statement may hang (a half-open connection), or be in backoff: then the next ones go another way. */
  private watchLanes(): void {
    if (this.busy === 0 || this.watch !== undefined) return;
    this.watch = this.options.clock.after(LANE_MAX_WAIT_MS, () => {
      this.watch = undefined;
      const oldest = this.queue[0];
      if (!oldest) return;
      if (this.options.clock.monotonic() - oldest.since >= LANE_MAX_WAIT_MS && this.busy < this.options.lanes)
        void this.runLane();
      else this.watchLanes();
    });
    this.watch.unref();
  }

  private async runLane(): Promise<void> {
    this.busy += 1;
    do {
      await this.flush(this.nextBatch());
    } while (this.queue.length > 0 && (this.busy === 1 || this.isFull()));
    this.busy -= 1;
    this.openLanes();
    this.mayBeIdle();
  }

  private mayBeIdle(): void {
    if (this.busy + this.alone === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  private nextBatch(): Pending<Item, Result>[] {
    const { maxBatch, maxSize = Infinity } = this.options;
    const { queue } = this;
    let count = 0;
    let size = 0;
    while (count < Math.min(maxBatch, queue.length)) {
      const next = size + queue[count]!.size;
      if (count > 0 && next > maxSize) break;
      size = next;
      count += 1;
    }
    this.queueSize -= size;
    return queue.splice(0, count);
  }

  private async flush(batch: Pending<Item, Result>[], attempt = 0): Promise<void> {
    if (TURN_BUDGET.isSpent) await TURN_BUDGET.nextTurn();
    for (const { size } of batch) TURN_BUDGET.spend(size);
    let results: Result[];
    try {
      results = await this.options.write(
        batch.map(({ item }) => item),
        attempt > 0,
      );
    } catch (error) {
      return this.failed(batch, error, attempt);
    }
    await this.answer(batch, results);
  }

  /**
   * The calls that wait for large items go on with as much to copy and to encode, each as soon as it is answered.
   */
  private async answer(batch: Pending<Item, Result>[], results: Result[]): Promise<void> {
    for (const [n, { size, resolve }] of batch.entries()) {
      if (TURN_BUDGET.isSpent) await TURN_BUDGET.nextTurn();
      resolve(results[n]!);
      TURN_BUDGET.spend(size);
    }
  }

  private async failed(batch: Pending<Item, Result>[], error: unknown, attempt: number): Promise<void> {
    if (!this.options.isOutage(error)) {
      if (batch.length === 1) return batch[0]!.reject(error);
      const half = batch.length >> 1;
      await this.flush(batch.slice(0, half), attempt);
      return this.flush(batch.slice(half), attempt);
    }
    const deadline = this.options.clock.monotonic() - (this.closed ? 0 : this.options.patience);
    const left = batch.filter(({ since, reject }) => {
      if (since > deadline) return true;
      reject(
        new SagaUnavailableError(
          `The server that stores the sagas could not be reached: ${(error as Error).message}. It is unknown whether the write was committed.`,
          { cause: error },
        ),
      );
      return false;
    });
    if (left.length === 0) return;
    const wait = transientWait(attempt, this.options.random());
    this.options.onOutage?.(error, wait);
    await sleep(this.options.clock, wait);
    if (attempt < TRIES_TOGETHER || this.options.isTransient(error)) return this.flush(left, attempt + 1);
    for (const one of left) void this.flushAlone(one, attempt + 1);
  }

  private async flushAlone(one: Pending<Item, Result>, attempt: number): Promise<void> {
    this.alone += 1;
    await this.flush([one], attempt);
    this.alone -= 1;
    this.mayBeIdle();
  }
}
