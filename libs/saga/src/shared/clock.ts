/** A call that is to come. */
export interface Timer {
  /** Lets the process end although the call is still to come. */
  unref(): unknown;
}

/** The time of one process, and what is to happen in it. The simulation, and tests with virtual time, bring their own. */
export interface Clock {
  /** Milliseconds that only go forward. */
  monotonic(): number;
  /** Milliseconds since the epoch, as this machine believes. */
  wall(): number;
  /** Calls once, so many milliseconds from now. */
  after(delay: number, call: () => void): Timer;
  cancel(timer: Timer | undefined): void;
}

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  after: (delay, call) => setTimeout(call, delay),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
};

export function sleep(clock: Clock, delay: number): Promise<void> {
  return new Promise((resolve) => void clock.after(delay, resolve));
}
