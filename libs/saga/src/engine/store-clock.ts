import type { Clock } from './clock.js';

/** The database's time, as well as this process knows it: never ahead of it by more than clocks drift between two looks. */
export class StoreClock {
  private offset: number | undefined;

  constructor(private readonly clock: Clock) {}

  /** Learns from an answer of the database that gave its time. */
  observe(storeNow: number): void {
    this.offset = storeNow - this.clock.monotonic();
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.offset === undefined ? this.clock.wall() : this.clock.monotonic() + this.offset;
  }
}
