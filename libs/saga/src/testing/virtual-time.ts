import type { Clock, Timer } from '../shared/clock.js';

/** A process, as long as it has not crashed. */
export interface Life {
  readonly isAlive: boolean;
}

interface ScheduledTimer extends Timer {
  readonly at: number;
  readonly call: () => void;
  readonly life: Life;
  cancelled: boolean;
}

/** When it begins, unless another time is given: milliseconds since the epoch. */
const BEGINNING = Date.UTC(2026, 0, 1);

/** Time that passes only on request: hours take no time, and every run has the same ones. */
export class VirtualTime {
  private time = 0;
  /** In the order in which they are to happen. */
  private readonly happenings: ScheduledTimer[] = [];

  constructor(private readonly beginning = BEGINNING) {}

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.beginning + this.time;
  }

  /** When the next thing happens; undefined: nothing is going to. */
  get next(): number | undefined {
    while (this.happenings[0] && !isComing(this.happenings[0])) this.happenings.shift();
    const [first] = this.happenings;
    return first && this.beginning + first.at;
  }

  /** The clock of one process. */
  clockOf(life: Life): Clock {
    return {
      monotonic: () => this.time,
      wall: () => this.now,
      after: (delay, call) => this.after(delay, call, life),
      cancel: (timer) => {
        if (timer) (timer as ScheduledTimer).cancelled = true;
      },
    };
  }

  /** Goes on to the next thing that happens, and lets all happen that is due then. */
  proceed(): void {
    const { next } = this;
    if (next !== undefined) this.proceedTo(next);
  }

  /** @param until milliseconds since the epoch */
  proceedTo(until: number): void {
    this.time = Math.max(this.time, until - this.beginning);
    for (let next = this.next; next !== undefined && next <= this.now; next = this.next)
      this.happenings.shift()!.call();
  }

  private after(delay: number, call: () => void, life: Life): Timer {
    const happening: ScheduledTimer = {
      ...{ at: this.time + Math.max(0, delay), call, life },
      cancelled: false,
      unref: () => happening,
    };
    // Never: nothing waits for it.
    if (happening.at === Infinity) return happening;
    const later = this.happenings.findIndex(({ at }) => at > happening.at);
    this.happenings.splice(later < 0 ? this.happenings.length : later, 0, happening);
    return happening;
  }
}

function isComing({ cancelled, life }: ScheduledTimer): boolean {
  return !cancelled && life.isAlive;
}
