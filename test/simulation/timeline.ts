/** A process as long as it lives. What it had in mind is lost with it; what it has sent is not. */
export class Life {
  isAlive = true;
  /** Stopped (SIGSTOP), or its event loop is blocked: nothing happens in it before this time. */
  pausedUntil = 0;
  /** It dies in place of this many calls from now. */
  callsLeft = Infinity;
  /** It is being started again. */
  restarts = false;

  end(): void {
    this.isAlive = false;
  }

  /** It asks something of the world. False: it died before it could. */
  call(): boolean {
    if (this.isAlive && (this.callsLeft -= 1) <= 0) this.end();
    return this.isAlive;
  }
}

export interface Happening {
  cancelled: boolean;
  unref(): void;
}

interface Event extends Happening {
  at: number;
  /** In the order in which they were set, where their times are equal. */
  readonly order: number;
  readonly run: () => void;
  readonly life: Life | undefined;
}

/** So many turns for each of the event loop, which costs as much as an event. */
const TURNS = 10;
let turns: Promise<void>[] = [];

/** Lets the microtasks run that an event has left behind: all of them run before the next of several immediates. */
function settled(): Promise<void> {
  if (turns.length === 0)
    turns = Array.from(
      { length: TURNS },
      () => new Promise<void>((resolve) => setImmediate(resolve)),
    ).reverse();
  return turns.pop()!;
}

/** More events at one time: they cause each other, and time stands still. */
const MOST_AT_ONCE = 100_000;

/** Virtual time (milliseconds), and all that is to happen in it, one thing after the other. */
export class Timeline {
  now = 0;
  private readonly events: Event[] = [];
  private count = 0;
  /** What happens later is called in the context in which it was planned. Default: in that of the timeline. */
  bound: (run: () => void) => () => void = (run) => run;

  /** `life`: of what happens in a process; it does not happen when that is dead. */
  after(delay: number, run: () => void, life?: Life): Happening {
    const at = this.now + Math.max(0, delay);
    this.count += 1;
    const event: Event = {
      at,
      order: this.count,
      run: this.bound(run),
      life,
      cancelled: false,
      unref: () => undefined,
    };
    this.push(event);
    return event;
  }

  /** Until nothing is left to happen, or it is enough. */
  async run(isEnough: () => boolean): Promise<void> {
    // A scenario is the same whatever was played before.
    turns = [];
    let atOnce = 0;
    for (let event = this.pop(); event; event = this.pop()) {
      atOnce = event.at > this.now ? 0 : atOnce + 1;
      if (atOnce > MOST_AT_ONCE) throw new TimeStandsStill(this.now);
      this.now = Math.max(this.now, event.at);
      if (event.cancelled || event.life?.isAlive === false) continue;
      if (event.life && event.life.pausedUntil > this.now) {
        // The same one: it may be cancelled meanwhile.
        event.at = event.life.pausedUntil;
        this.push(event);
        continue;
      }
      event.run();
      await settled();
      if (isEnough()) return;
    }
  }

  private push(event: Event): void {
    const { events } = this;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, events[parent]!)) break;
      events[at] = events[parent]!;
      at = parent;
    }
    events[at] = event;
  }

  private pop(): Event | undefined {
    const { events } = this;
    const first = events[0];
    const last = events.pop();
    if (last === undefined || last === first) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1]!, events[child]!)) child += 1;
      if (!isBefore(events[child]!, last)) break;
      events[at] = events[child]!;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

/** In a real process: a loop that takes all of its time. */
export class TimeStandsStill extends Error {
  constructor(now: number) {
    super(`${MOST_AT_ONCE} events at ${now} ms: something waits for no time, again and again`);
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
