import { Fifo } from '../../shared/fifo.js';
import { SlotMap } from '../../shared/slot-map.js';
import { SMALL_SAGA, sizeOfSaga } from '../ports/payload-size.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { LeasedRun } from '../run/saga-run-ports.js';

/** A saga that this worker has leased and that waits for a slot. A class, since it lives long: see NOTHING. */
export class QueuedSaga implements LeasedRun {
  /** Another worker has taken it over. */
  isFenced = false;
  /** Something may have been sent to it meanwhile. */
  isAsked = false;
  leasedAt: number;

  constructor(
    public saga: StoredSaga,
    /** Monotonic time, not after its lease began: what `saga` holds is as of then. */
    readonly heldSince: number,
  ) {
    this.leasedAt = heldSince;
  }

  get id(): string {
    return this.saga.id;
  }

  get epoch(): number {
    return this.saga.epoch;
  }

  /** Characters of payloads. It stays the same while the saga waits. */
  get size(): number {
    return sizeOfSaga(this.saga);
  }

  fence(): void {
    this.isFenced = true;
  }

  cancel(reason: string | undefined): void {
    this.saga = { ...this.saga, cancelRequested: { reason } };
  }

  pause(): void {
    this.saga = { ...this.saga, pauseRequested: true };
  }

  /** Nothing runs that would have to stop, and nothing begins before the lease is renewed. */
  leaseExpired(): void {}
}

/** The sagas of one priority, in the order in which they came. */
class Line extends Fifo<QueuedSaga> {
  constructor(readonly priority: number) {
    super();
  }
}

/** The sagas that a worker has leased and that wait for a slot: the highest priority first, then the first that came. */
export class SagaQueue {
  private readonly byId = new SlotMap<string, QueuedSaga>();
  /** The highest priority first. */
  private readonly lines: Line[] = [];
  /** What it holds of payloads, in characters. */
  size = 0;
  /** Characters of payloads of its large sagas. */
  largeSize = 0;

  get length(): number {
    return this.byId.size;
  }

  get(id: string): QueuedSaga | undefined {
    return this.byId.get(id);
  }

  values(): Iterable<QueuedSaga> {
    return this.byId.values();
  }

  /** If the same saga waits already, its lease ran out and it was claimed again right here. */
  put(queued: QueuedSaga): void {
    const older = this.byId.get(queued.id);
    if (older) this.remove(older);
    this.byId.set(queued.id, queued);
    this.count(queued.size);
    this.lineOf(queued.saga.priority).push(queued);
  }

  /** The next one, fenced or not. Undefined: none waits. */
  take(): QueuedSaga | undefined {
    while (this.lines.length > 0) {
      const line = this.lines[0]!;
      const queued = line.shift()!;
      if (line.length === 0) this.lines.shift();
      if (this.byId.get(queued.id) !== queued) continue;
      this.remove(queued);
      return queued;
    }
    return undefined;
  }

  /** Takes all out. */
  clear(): QueuedSaga[] {
    const all = [...this.byId.values()];
    for (const queued of all) this.remove(queued);
    this.lines.length = 0;
    return all;
  }

  private remove(queued: QueuedSaga): void {
    this.byId.delete(queued.id);
    this.count(-queued.size);
  }

  private count(size: number): void {
    this.size += size;
    if (Math.abs(size) > SMALL_SAGA) this.largeSize += size;
  }

  private lineOf(priority: number): Line {
    const place = this.lines.findIndex((line) => line.priority <= priority);
    if (this.lines[place]?.priority === priority) return this.lines[place];
    const line = new Line(priority);
    this.lines.splice(place === -1 ? this.lines.length : place, 0, line);
    return line;
  }
}
