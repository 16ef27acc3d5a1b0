import type { Clock, Timer } from '../../libs/saga/src/shared/clock.js';
import type { Dice } from './rng.js';
import type { Happening, Life, Timeline } from './timeline.js';

const HOUR = 3_600_000;
/** Clocks run this much too fast or too slow, at most. */
const DRIFT = 0.002;

/** The clock of one process: hours wrong, a little too fast or too slow, and as dead as the process. */
export class SimulatedClock implements Clock {
  private readonly pace: number;
  private readonly error: number;

  constructor(
    private readonly timeline: Timeline,
    private readonly life: Life,
    dice: Dice,
  ) {
    this.pace = 1 + DRIFT * (2 * dice.next() - 1);
    this.error = dice.happens(0.3) ? dice.int(-12, 12) * HOUR : dice.int(-50, 50);
  }

  monotonic(): number {
    return this.timeline.now * this.pace;
  }

  wall(): number {
    return EPOCH + this.timeline.now * this.pace + this.error;
  }

  after(delay: number, call: () => void): Timer {
    return this.timeline.after(delay / this.pace, call, this.life);
  }

  cancel(timer: Timer | undefined): void {
    if (timer) (timer as Happening).cancelled = true;
  }
}

/** When the timeline begins, by the database's clock. */
export const EPOCH = Date.UTC(2026, 0, 1);
