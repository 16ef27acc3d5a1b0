import { type Clock, sleep } from '../../shared/clock.js';
import { transientWait } from '../../shared/transient-wait.js';

/** The share of a lease within which something may begin without asking: clocks differ, and a process may be stopped. */
const SAFE_SHARE = 0.9;

export interface RunLeasePorts {
  readonly clock: Clock;
  readonly random: () => number;
  /** Milliseconds of a lease. */
  readonly lease: number;
}

/** The lease of one run, as far as this process knows. */
export class RunLease {
  /** The lease is another worker's. */
  isLost = false;

  constructor(
    /** Monotonic time of the request for the lease or for its last extension. Later if the extension was longer than usual. */
    public leasedAt: number,
    private readonly ports: RunLeasePorts,
  ) {}

  /** False: the answer to the last request came late, and another worker may have taken over. */
  get isSafe(): boolean {
    const { clock, lease } = this.ports;
    return !this.isLost && clock.monotonic() - this.leasedAt <= lease * SAFE_SHARE;
  }

  /** Renews the lease until it is safe or lost, or until `ends` returns true. */
  async extend(renew: () => Promise<void>, ends: () => boolean): Promise<void> {
    const { clock, random } = this.ports;
    for (let tries = 0; ; tries += 1) {
      await renew();
      if (this.isSafe || this.isLost || ends()) return;
      await sleep(clock, transientWait(tries, random()));
    }
  }
}
