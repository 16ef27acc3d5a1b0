import type { Clock } from '../../shared/clock.js';
import { Fifo } from '../../shared/fifo.js';
import { SlotMap } from '../../shared/slot-map.js';
import { sizeOfSaga, sizeOfStart } from '../ports/payload-size.js';
import type { NewSaga, StoredSaga } from '../ports/stored-saga.js';
import type { MadeCheckpoint } from './made-checkpoint.js';

/** What a process keeps of the sagas that it started and ran. */
export interface RecoveryBounds {
  /** Milliseconds. */
  readonly window: number;
  /** A character of a payload, or of an error, counts as a byte. */
  readonly bytes: number;
}

/** Bytes that an entry, and a checkpoint of it, count for beside their payloads. */
const ENTRY_BYTES = 1_024;
const CHECKPOINT_BYTES = 768;

/** A start that was acknowledged. */
export interface KnownStart {
  readonly saga: NewSaga;
  /** The database's time. */
  readonly at: number;
}

/** What this process knows of a saga. Everything is referred to, nothing is copied. */
export class KnownSaga {
  start: KnownStart | undefined;
  /** The last claim. */
  claimed: StoredSaga | undefined;
  /** The last checkpoint that was acknowledged. */
  last: MadeCheckpoint | undefined;
  bytes = ENTRY_BYTES;
  isForgotten = false;

  constructor(
    readonly id: string,
    /** Monotonic ms of the last write. */
    public at: number,
    /** The value of `at` when the entry was queued. */
    public queuedAt: number,
  ) {}
}

/** The sagas that this process lately started and ran, within a time and a number of bytes: the oldest are forgotten. */
export class RecentSagas {
  private readonly known = new SlotMap<string, KnownSaga>();
  private readonly queue = new Fifo<KnownSaga>();
  private bytes = 0;

  constructor(
    private readonly bounds: RecoveryBounds,
    private readonly clock: Clock,
  ) {}

  get size(): number {
    return this.known.size;
  }

  started(saga: NewSaga, at: number): void {
    const entry = this.touch(saga.id);
    entry.start = { saga, at };
    this.add(entry, sizeOfStart(saga));
  }

  claimed(saga: StoredSaga): void {
    const entry = this.touch(saga.id);
    const before = entry.claimed ? sizeOfSaga(entry.claimed) : 0;
    entry.claimed = saga;
    this.add(entry, sizeOfSaga(saga) - before);
  }

  stored(made: MadeCheckpoint, isTransactional: boolean): void {
    const entry = this.touch(made.id);
    const { last } = entry;
    const isReplaced = last !== undefined && !isTransactional && isPlain(last);
    made.isTransactional = isTransactional;
    made.before = isReplaced ? last.before : last;
    // Of the run, which may have ended.
    made.elapsed = undefined;
    entry.last = made;
    this.add(entry, isReplaced ? made.size : made.size + CHECKPOINT_BYTES);
  }

  /** Another process has ended the saga, and would put it back: it is not started again here. */
  ended(id: string): void {
    const entry = this.known.get(id);
    if (entry && !entry.last) this.forget(entry);
  }

  /** Others go on with the saga: what was known of its progress does not count any more. That it was started does. */
  outlive(entry: KnownSaga): void {
    if (!entry.start) return this.forget(entry);
    entry.claimed = entry.last = undefined;
  }

  forget(entry: KnownSaga): void {
    if (entry.isForgotten) return;
    entry.isForgotten = true;
    this.bytes -= entry.bytes;
    this.known.delete(entry.id);
  }

  /** Oldest first. */
  all(): KnownSaga[] {
    return this.queue.all().filter(({ isForgotten }) => !isForgotten);
  }

  /** Forgets what is too old, or too much. */
  trim(): void {
    const oldest = this.clock.monotonic() - this.bounds.window;
    for (let entry = this.queue.first; entry; entry = this.queue.first) {
      if (!entry.isForgotten && entry.queuedAt >= oldest && this.bytes <= this.bounds.bytes) break;
      this.queue.shift();
      if (entry.isForgotten) continue;
      if (entry.queuedAt === entry.at) this.forget(entry);
      else {
        // It was written since: it takes its turn again.
        entry.queuedAt = entry.at;
        this.queue.push(entry);
      }
    }
  }

  private touch(id: string): KnownSaga {
    const now = this.clock.monotonic();
    let entry = this.known.get(id);
    if (!entry) {
      entry = new KnownSaga(id, now, now);
      this.known.set(id, entry);
      this.queue.push(entry);
      this.bytes += entry.bytes;
    }
    entry.at = now;
    return entry;
  }

  private add(entry: KnownSaga, bytes: number): void {
    entry.bytes += bytes;
    this.bytes += bytes;
    this.trim();
  }
}

/** The state of the next checkpoint has all that this one has. */
function isPlain({ isTransactional, messages, starts, tags }: MadeCheckpoint): boolean {
  return !isTransactional && messages === undefined && starts === undefined && tags === undefined;
}
