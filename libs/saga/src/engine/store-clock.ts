/** The database's time, as well as this process knows it: never ahead of it by more than clocks drift between two looks. */
export class StoreClock {
  private offset: number | undefined;

  constructor(
    /** Milliseconds that only go forward. */
    readonly monotonic: () => number = () => performance.now(),
    private readonly wall: () => number = () => Date.now(),
  ) {}

  /** Learns from an answer of the database that gave its time. */
  observe(storeNow: number): void {
    this.offset = storeNow - this.monotonic();
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.offset === undefined ? this.wall() : this.monotonic() + this.offset;
  }
}
