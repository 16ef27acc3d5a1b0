import type { Clock } from './clock.js';

/** Clocks that are set back by less (ms) drift, or are corrected. */
export const NOTICED_MS = 1_000;

/**
 * The database's time, as well as this process knows it: ahead of it by no more than the last answer took. An answer bounds it on both
 * sides: its time was read after the question was sent, and before the answer arrived.
 */
export class StoreClock {
  /** How often it was set back. */
  setBacks = 0;
  /** When the last answer arrived; monotonic time. */
  answeredAt = -Infinity;
  private offset: number | undefined;
  /** When the clock was found to be set back (monotonic time), and the latest time that it had been. */
  private setBackAt = -Infinity;
  private before = -Infinity;
  /** When the answer arrived that last showed that the clock is behind what was known; monotonic time. */
  private lowered = -Infinity;

  constructor(private readonly clock: Pick<Clock, 'monotonic' | 'wall'>) {}

  /**
   * Learns from an answer of the database that gave its time. It is behind by as long as the answer was on its way, or this process was
   * suspended, so the quickest answer counts. One that cannot be as late as it would have to be says that the clock was set back, or
   * that another server answers whose clock is behind. Answers to questions that were sent before that one arrived set it forward no
   * more: the clock may have been read before it was set back.
   * @param sentAt monotonic time, not after the database read its clock
   */
  observe(storeNow: number, sentAt: number): void {
    this.answeredAt = this.clock.monotonic();
    const [least, most] = [storeNow - this.answeredAt, storeNow - sentAt];
    const { offset } = this;
    if (offset !== undefined && offset > most) {
      this.lowered = this.answeredAt;
      // It drifts, or was corrected: it is behind by this, however late the answer arrives.
      if (offset - most <= NOTICED_MS) this.offset = most;
      else {
        this.setBacks += 1;
        this.setBackAt = this.answeredAt;
        this.before = Math.max(this.before, this.now());
        this.offset = least;
      }
    } else if (sentAt >= this.lowered && !(offset! >= least)) this.offset = least;
  }

  /** Milliseconds since the epoch. Before the first answer, the time of this machine. */
  now(): number {
    return this.offset === undefined ? this.clock.wall() : this.clock.monotonic() + this.offset;
  }

  /** The latest time that it has been since this monotonic time. Later, if the clock was set back more than once. */
  latestSince(since: number): number {
    return since <= this.setBackAt ? Math.max(this.before, this.now()) : this.now();
  }
}

/** A time that was stored less than so many milliseconds ago. One that is yet to come was stored before the clock was set back. */
export function isWithin(time: number, span: number, now: number): boolean {
  return time <= now && now - time < span;
}
