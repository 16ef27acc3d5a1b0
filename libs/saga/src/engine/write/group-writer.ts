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
  /** Milliseconds for which an item is tried again after transient errors; past it SagaUnavailableError. */
  readonly patience: number;
  readonly onTransientError?: (error: unknown, retryIn: number) => void;
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

/** Nothing waits longer than this (ms) for a lane that does not come back, as long as there is another. */
const LANE_MAX_WAIT_MS = 100;

/**
 * Group commit: what is written while a statement is in flight goes into the next one, so that a busy process
 * makes few commits and an idle one waits for nothing. Transient errors are tried again with backoff; an item
 * that the database refuses fails alone, found by halving its batch.
 */
export class GroupWriter<Item, Result> {
  private queue: Pending<Item, Result>[] = [];
  /** Characters of all that is in the queue. */
  private queueSize = 0;
  private busy = 0;
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

  /** From now on transient errors are final. */
  hasten(): void {
    this.closed = true;
  }

  /** Resolves once everything given so far is written, or has failed. Transient errors are final from now on. */
  async close(): Promise<void> {
    this.hasten();
    while (this.queue.length > 0 || this.busy > 0) {
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
    if (this.busy === 0) for (const resolve of this.idle.splice(0)) resolve();
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
    if (!this.options.isTransient(error)) {
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
          `The database could not be reached: ${(error as Error).message}. It is unknown whether the write was committed.`,
          { cause: error },
        ),
      );
      return false;
    });
    if (left.length === 0) return;
    const wait = transientWait(attempt, this.options.random());
    this.options.onTransientError?.(error, wait);
    await sleep(this.options.clock, wait);
    return this.flush(left, attempt + 1);
  }
}
