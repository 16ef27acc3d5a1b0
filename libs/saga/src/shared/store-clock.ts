import type { Clock } from './clock.js';

/** How far (of the time that has passed) this process's clock may run ahead of the database's. */
const DRIFT = 0.01;

/** The database's time, as well as this process knows it: never ahead of it by more than clocks drift between two looks. */
export class StoreClock {
  private offset: number | undefined;
  /** Monotonic time of the look that gave the offset. */
  private learntAt = 0;

  constructor(private readonly clock: Clock) {}

  /**
   * Learns from an answer of the database that gave its time. It is behind by as long as the answer was in progress, or
   * this process was stopped: the one that was the quickest counts, until clocks may have drifted further than that.
   */
  observe(storeNow: number): void {
    const now = this.clock.monotonic();
    const offset = storeNow - now;
    if (this.offset !== undefined && offset < this.offset - (now - this.learntAt) * DRIFT) return;
    this.offset = offset;
    this.learntAt = now;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.offset === undefined ? this.clock.wall() : this.clock.monotonic() + this.offset;
  }
}
