import type { Clock } from './clock.js';

/** Clocks that are set back by less (ms) drift, or are corrected. */
const NOTICED_MS = 1_000;

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
  /** When the question was sent whose answer last showed that the clock is behind what was known; monotonic time. */
  private lowered = -Infinity;

  constructor(private readonly clock: Pick<Clock, 'monotonic' | 'wall'>) {}

  /**
   * Learns from an answer of the database that gave its time. It is behind by as long as the answer was on its way, or this process was
   * suspended, so the quickest answer counts. One that cannot be as late as it would have to be says that the clock was set back, or
   * that another server answers whose clock is behind. Answers to earlier questions, which arrive after that one, set it forward no more:
   * the clock may have been read before it was set back.
   * @param sentAt monotonic time, not after the database read its clock
   */
  observe(storeNow: number, sentAt: number): void {
    this.answeredAt = this.clock.monotonic();
    const [least, most] = [storeNow - this.answeredAt, storeNow - sentAt];
    const { offset } = this;
    if (offset !== undefined && offset > most) {
      // A question that was asked again and again in an outage was first sent long ago.
      this.lowered = Math.max(this.lowered, sentAt);
      if (offset - most > NOTICED_MS) this.setBacks += 1;
    } else if (sentAt < this.lowered || (offset !== undefined && offset >= least)) return;
    this.offset = least;
  }

  /** Milliseconds since the epoch. Before the first answer, the time of this machine. */
  now(): number {
    return this.offset === undefined ? this.clock.wall() : this.clock.monotonic() + this.offset;
  }
}

/** A time that was stored less than so many milliseconds ago. One that is yet to come was stored before the clock was set back. */
export function isWithin(time: number, span: number, now: number): boolean {
  return time <= now && now - time < span;
}
