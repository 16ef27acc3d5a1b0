import type { Clock, Timer } from '../../shared/clock.js';
import { repeated } from '../../shared/transient-wait.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { Recovery } from '../write/recovery.js';
import { SAFE_SHARE } from '../run/saga-run.js';
import type { LeasedRun } from '../run/saga-run-ports.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { HeldLease, Lease, StoredSaga } from '../ports/stored-saga.js';
import type { RunListener } from './worker-ports.js';
import { Trouble } from '../observe/trouble.js';
import type { StoreClock } from '../../shared/store-clock.js';

/** What steps report is stored at most so often (ms), all of it together. */
const REPORT_INTERVAL = 1_000;
/** Sagas of which one statement stores reports: each of them may be some KB. */
const REPORTS_AT_ONCE = 200;

/** Leases are renewed after a third of their time, so that two renewals may fail. */
const RENEWALS_PER_LEASE = 3;

export interface LeaseKeeperPorts {
  readonly store: Pick<SagaStore, 'renew' | 'load' | 'isOutage' | 'isTransient'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly storeClock: StoreClock;
  readonly log: EngineLog;
  /** Undefined: nothing is put back after a failover. */
  readonly recovery?: Pick<Recovery, 'ready'>;
  readonly listener?: Pick<RunListener, 'reported'>;
}

/** Keeps the leases of the runs of one worker: one statement for all that are old enough, none when idle. */
export class LeaseKeeper {
  private timer: Timer | undefined;
  /** Set while something is to be stored. */
  private reporting: Timer | undefined;
  /** Monotonic time at which reports were stored last. */
  private reportedAt = -Infinity;
  /** Monotonic time. Since then, at each claim, leases had ended that could not be renewed. */
  private endedSince: number | undefined;
  private readonly trouble: Trouble;

  constructor(
    private readonly runs: { values(): Iterable<LeasedRun> },
    private readonly lease: Lease,
    private readonly ports: LeaseKeeperPorts,
  ) {
    this.trouble = new Trouble(ports, {
      what: 'The renewal of leases',
      meanwhile:
        'It is repeated. Other workers may take over sagas whose leases expire meanwhile, and then this one claims none',
    });
  }

  start(): void {
    this.timer = this.ports.clock.after(this.lease.duration / RENEWALS_PER_LEASE / 2, () => {
      this.start();
      void this.renewOld();
    });
  }

  stop(): void {
    this.ports.clock.cancel(this.timer);
    this.ports.clock.cancel(this.reporting);
  }

  /** A run has a report to store: at once, or a second after the last ones were. */
  reportSoon(): void {
    if (this.reporting) return;
    const { clock } = this.ports;
    const wait = Math.max(0, this.reportedAt + REPORT_INTERVAL - clock.monotonic());
    this.reporting = clock.after(wait, () => {
      this.reporting = undefined;
      void this.storeReports();
    });
  }

  private async storeReports(): Promise<void> {
    this.reportedAt = this.ports.clock.monotonic();
    const runs = [...this.runs.values()].filter(({ reported }) => reported?.isUrgent && !reported.sent);
    for (let n = 0; n < runs.length; n += REPORTS_AT_ONCE)
      await this.renew(runs.slice(n, n + REPORTS_AT_ONCE));
  }

  /**
   * Extends the leases, and brings the runs what was asked of them meanwhile.
   * @param longer so many ms more than usual, in which they are not renewed
   */
  async renew(runs: readonly LeasedRun[], longer = 0): Promise<void> {
    let sentAt = this.ports.clock.monotonic();
    const reporting: LeasedRun[] = [];
    const sent = runs.map((run): HeldLease => {
      const { id, epoch, reported } = run;
      const seen = this.ports.storeClock.latestSince(run.heldSince);
      const reports = reported?.take();
      if (reports !== undefined) reporting.push(run);
      return { id, epoch, seen, reports };
    });
    try {
      const recovered = this.ports.recovery?.ready();
      if (recovered) {
        await recovered;
        sentAt = this.ports.clock.monotonic();
      }
      const { lost, cancelled, paused, now } = await this.ports.store.renew(sent, {
        ...this.lease,
        duration: this.lease.duration + longer,
      });
      this.trouble.over();
      this.ports.storeClock.observe(now, sentAt);
      for (const run of reporting) this.stored(run);
      for (const run of runs) run.leasedAt = sentAt + longer;
      const byId = new Map(runs.map((run) => [run.id, run]));
      for (const id of lost) byId.get(id)?.fence();
      for (const { id, reason } of cancelled) byId.get(id)?.cancel(reason);
      for (const id of paused) byId.get(id)?.pause();
    } catch (error) {
      for (const { reported } of reporting) reported!.giveBack();
      this.trouble.met(error);
    }
  }

  private stored({ id, reported }: LeasedRun): void {
    reported!.stored();
    this.ports.listener?.reported(id);
    // It was reported while the text before was on its way.
    if (reported!.isUrgent) this.reportSoon();
  }

  /** What this run is asked to do; undefined: its lease is lost. */
  async askedOf({
    id,
    epoch,
  }: LeasedRun): Promise<Pick<StoredSaga, 'cancelRequested' | 'pauseRequested'> | undefined> {
    const { recovery, store } = this.ports;
    const load = async () => {
      await recovery?.ready();
      return store.load({ id });
    };
    const saga = await repeated(load, (error) => store.isOutage(error), this.ports);
    return saga?.epoch === epoch ? saga : undefined;
  }

  /**
   * Renews the leases that may have ended: a claim would take their sagas from the runs that go on here, and what these have done
   * would count as unknown. False: it failed, for at most as long as a lease. Then claims go on: one saga that cannot be renewed
   * does not keep this worker from all others.
   */
  async renewEnded(): Promise<boolean> {
    const now = this.ports.clock.monotonic();
    const ended = this.ended();
    if (ended.length > 0) {
      this.endedSince ??= now;
      if (now - this.endedSince > this.lease.duration) return true;
      await this.renew(ended);
      if (this.ended().length > 0) return false;
    }
    this.endedSince = undefined;
    return true;
  }

  private async renewOld(): Promise<void> {
    const now = this.ports.clock.monotonic();
    const old = [...this.runs.values()].filter(
      (run) => now - run.leasedAt >= this.lease.duration / RENEWALS_PER_LEASE,
    );
    for (const run of old) if (now - run.leasedAt > this.lease.duration) run.leaseExpired();
    if (old.length > 0) await this.renew(old);
  }

  /** The runs whose leases are not safe any more: see isLeaseSafe. */
  private ended(): LeasedRun[] {
    const now = this.ports.clock.monotonic();
    return [...this.runs.values()].filter(
      ({ leasedAt }) => now - leasedAt > this.lease.duration * SAFE_SHARE,
    );
  }
}
