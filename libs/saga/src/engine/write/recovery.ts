import { sleep } from '../../shared/clock.js';
import { PutBackSagas, type RecoveryPorts } from './put-back-sagas.js';
import { RecentSagas, type RecoveryBounds } from './recent-sagas.js';

/** No saga is claimed for so long (ms) after a failover was noticed: other processes have something to put back as well. */
const CLAIM_GRACE = 3_000;
/** A process that has something to put back asks the database after so long (ms) without an answer. Less than the grace. */
const SILENCE = 1_500;
/** A statement that was sent just now, such as that of the poll, is answered after so long (ms). It makes the question needless. */
const ANSWER = 100;

/**
 * Puts back what a failover has lost and this process still knows: what it has started and run lately. As long as that is in
 * progress, this process stores nothing else, so that nothing is built on a state that is older than what it knows.
 */
export class Recovery {
  /** What this process would put back. */
  readonly recent: RecentSagas;
  private readonly sagas: PutBackSagas;
  /** The failover after which everything was put back. */
  private handled = -Infinity;
  private running: Promise<void> | undefined;
  private isLooking = false;
  /** When the database answered the last look; monotonic time. */
  private answeredAt = -Infinity;

  constructor(
    bounds: RecoveryBounds,
    private readonly ports: RecoveryPorts,
  ) {
    this.recent = new RecentSagas(bounds, ports.clock);
    this.sagas = new PutBackSagas(this.recent, ports);
  }

  /** Undefined: nothing is to be put back. Otherwise it resolves once that is done, and rejects as the database does. */
  ready(): Promise<void> | undefined {
    if (this.ports.store.lastFailoverAt === this.handled) return undefined;
    return (this.running ??= this.recover().finally(() => (this.running = undefined)));
  }

  /** As `ready`, for those who take up what others may have to put back. */
  claimable(): Promise<void> | undefined {
    const { store, clock } = this.ports;
    const wait = store.lastFailoverAt + CLAIM_GRACE - clock.monotonic();
    const ready = this.ready();
    return wait > 0 ? Promise.all([ready, sleep(clock, wait)]).then(() => undefined) : ready;
  }

  /** What is missing in the database may yet be put back, here or by another process. */
  get isRecent(): boolean {
    const { store, clock } = this.ports;
    return clock.monotonic() - store.lastFailoverAt < 2 * CLAIM_GRACE || this.ready() !== undefined;
  }

  /**
   * The scheduled look. A process that the database has not answered lately asks it something: it would not notice a failover
   * before others claim what it has to put back. Nothing is forgotten while the database cannot be reached: an outage may be
   * longer than the window, and end with a failover.
   */
  look(): void {
    if (this.recent.size === 0 || this.isLooking) return;
    this.isLooking = true;
    // If it fails, the next look asks again.
    void this.looked()
      .catch(() => undefined)
      .finally(() => (this.isLooking = false));
  }

  private async looked(): Promise<void> {
    const { store, clock } = this.ports;
    if (this.isSilent) await sleep(clock, ANSWER);
    if (this.isSilent) {
      try {
        await store.revisions([]);
      } catch (error) {
        // The first statement that fails may be the one by which a failover is noticed.
        if (this.ready() === undefined) throw error;
      }
      this.answeredAt = clock.monotonic();
    }
    await this.ready();
    this.recent.trim();
  }

  private get isSilent(): boolean {
    const { storeClock, clock } = this.ports;
    return clock.monotonic() - Math.max(this.answeredAt, storeClock.answeredAt) >= SILENCE;
  }

  /** From now on, transient errors are final. */
  hasten(): void {
    this.sagas.isHastened = true;
  }

  private async recover(): Promise<void> {
    const { store } = this.ports;
    for (let at = store.lastFailoverAt; at !== this.handled; at = store.lastFailoverAt) {
      await this.sagas.putAllBack();
      if (store.lastFailoverAt === at) this.handled = at;
    }
  }
}
