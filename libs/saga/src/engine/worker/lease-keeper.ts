import { type Clock, sleep, type Timer } from '../../shared/clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { Recovery } from '../write/recovery.js';
import type { LeasedRun } from '../run/saga-run-ports.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { Lease, StoredSaga } from '../ports/stored-saga.js';
import { serializeError } from '../payload/serialize-error.js';
import type { StoreClock } from '../../shared/store-clock.js';

/** Leases are renewed after a third of their time, so that two renewals may fail. */
const RENEWALS_PER_LEASE = 3;

export interface LeaseKeeperPorts {
  readonly store: Pick<SagaStore, 'renew' | 'load' | 'isTransient'>;
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  readonly log: EngineLog;
  /** Undefined: nothing is put back after a failover. */
  readonly recovery?: Pick<Recovery, 'ready'>;
}

/** Keeps the leases of the runs of one worker: one statement for all that are old enough, none when idle. */
export class LeaseKeeper {
  private timer: Timer | undefined;

  constructor(
    private readonly runs: { values(): Iterable<LeasedRun> },
    private readonly lease: Lease,
    private readonly ports: LeaseKeeperPorts,
  ) {}

  start(): void {
    this.timer = this.ports.clock.after(this.lease.duration / RENEWALS_PER_LEASE / 2, () => {
      this.start();
      void this.renewOld();
    });
  }

  stop(): void {
    this.ports.clock.cancel(this.timer);
  }

  /**
   * Extends the leases, and brings the runs what was asked of them meanwhile.
   * @param longer so many ms more than usual, in which they are not renewed
   */
  async renew(runs: readonly LeasedRun[], longer = 0): Promise<void> {
    let sentAt = this.ports.clock.monotonic();
    try {
      const recovered = this.ports.recovery?.ready();
      if (recovered) {
        await recovered;
        sentAt = this.ports.clock.monotonic();
      }
      const { lost, cancelled, paused, now } = await this.ports.store.renew(runs, {
        ...this.lease,
        duration: this.lease.duration + longer,
      });
      this.ports.storeClock.observe(now);
      for (const run of runs) run.leasedAt = sentAt + longer;
      const byId = new Map(runs.map((run) => [run.id, run]));
      for (const id of lost) byId.get(id)?.fence();
      for (const { id, reason } of cancelled) byId.get(id)?.cancel(reason);
      for (const id of paused) byId.get(id)?.pause();
    } catch (error) {
      this.ports.log.warn(`Leases could not be renewed: ${serializeError(error).message}`);
    }
  }

  /** What this run is asked to do; undefined: its lease is lost. */
  async askedOf(run: LeasedRun): Promise<Pick<StoredSaga, 'cancelRequested' | 'pauseRequested'> | undefined> {
    for (let wait = 50; ; wait = Math.min(2_000, wait * 2)) {
      try {
        await this.ports.recovery?.ready();
        const saga = await this.ports.store.load({ id: run.id });
        return saga?.epoch === run.epoch ? saga : undefined;
      } catch (error) {
        if (!this.ports.store.isTransient(error)) throw error;
        await sleep(this.ports.clock, wait);
      }
    }
  }

  private async renewOld(): Promise<void> {
    const now = this.ports.clock.monotonic();
    const old = [...this.runs.values()].filter(
      (run) => now - run.leasedAt >= this.lease.duration / RENEWALS_PER_LEASE,
    );
    for (const run of old) if (now - run.leasedAt > this.lease.duration) run.leaseExpired();
    if (old.length > 0) await this.renew(old);
  }
}
