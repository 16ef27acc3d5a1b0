import { type Clock, sleep } from '../../shared/clock.js';
import { repeated } from '../../shared/transient-wait.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import type { EngineLog } from '../ports/engine-log.js';
import { type Lost, type PutBackCount, type PutBackPorts, PutBackSagas } from './put-back-sagas.js';
import { type KnownSaga, RecentSagas, type RecoveryBounds } from './recent-sagas.js';

export interface RecoveryPorts extends PutBackPorts {
  readonly observers: SagaObservers;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: EngineLog;
  /** The run of a saga here looks again at what it waits for: others of that may have been lost. */
  readonly look: (id: string) => void;
}

/** Sagas that are looked at, or started again, with one statement. */
const BATCH = 200;
/** Sagas that are put back side by side. */
const LANES = 4;
/** No saga is claimed for so long (ms) after a failover was noticed: other processes have something to put back as well. */
const CLAIM_GRACE = 3_000;
/** A process that has something to put back asks the database after so long (ms) without an answer. Less than the grace. */
const SILENCE = 1_500;

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
  private isHastened = false;
  private isLooking = false;
  /** When the database answered the last look; monotonic time. */
  private answeredAt = -Infinity;

  constructor(
    bounds: RecoveryBounds,
    private readonly ports: RecoveryPorts,
  ) {
    this.recent = new RecentSagas(bounds, ports.clock);
    this.sagas = new PutBackSagas(ports);
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
    const { store, storeClock, clock } = this.ports;
    const silence = clock.monotonic() - Math.max(this.answeredAt, storeClock.answeredAt);
    if (silence >= SILENCE) {
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

  /** From now on, transient errors are final. */
  hasten(): void {
    this.isHastened = true;
  }

  private async recover(): Promise<void> {
    const { store } = this.ports;
    for (let at = store.lastFailoverAt; at !== this.handled; at = store.lastFailoverAt) {
      await this.putAllBack();
      if (store.lastFailoverAt === at) this.handled = at;
    }
  }

  private async putAllBack(): Promise<void> {
    const count: PutBackCount = { starts: 0, checkpoints: 0, left: 0 };
    for (let known = this.recent.all(); known.length > 0;) {
      const began = this.ports.clock.monotonic();
      for (let n = 0; n < known.length; n += BATCH) await this.putBack(known.slice(n, n + BATCH), count);
      // Nothing is sent meanwhile. But answers of the server that was the primary may have been on their way.
      known = this.recent.all().filter(({ at }) => at >= began);
    }
    const { starts, checkpoints, left } = count;
    if (starts + checkpoints + left === 0) return;
    const others = left === 0 ? '' : `. ${left} saga(s) were left as they are stored`;
    this.ports.log.warn(
      `A failover has lost commits. Put back: the starts of ${starts} and the progress of ${checkpoints} saga(s)${others}`,
    );
  }

  private async putBack(known: readonly KnownSaga[], count: PutBackCount): Promise<void> {
    const waiting = await this.lostOf(known, count);
    const lane = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await this.putOneBack(next, count);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  /** One that the database refuses to store again is left out. */
  private async lostOf(known: readonly KnownSaga[], count: PutBackCount): Promise<Lost[]> {
    try {
      return await this.persist(() => this.sagas.lostOf(known));
    } catch (error) {
      if (this.ports.store.isOutage(error)) throw error;
      if (known.length === 1) return this.leave(known[0]!, error, count);
      const lost: Lost[] = [];
      for (const one of known) lost.push(...(await this.lostOf([one], count)));
      return lost;
    }
  }

  private leave({ id }: KnownSaga, error: unknown, count: PutBackCount): [] {
    count.left += 1;
    this.ports.log.error(`Saga ${id} could not be put back: ${(error as Error).message}`);
    return [];
  }

  private async putOneBack(lost: Lost, count: PutBackCount): Promise<void> {
    const { store, observers } = this.ports;
    try {
      const { what, name, isWhole } = await this.persist(() => this.sagas.putBack(lost));
      if (lost.isNew) {
        count.starts += 1;
        observers.putBack('start', name);
      }
      if (what === 'put-back') {
        count.checkpoints += 1;
        observers.putBack('checkpoint', name);
        if (waitsForOthers(lost.known)) this.ports.look(lost.known.id);
      } else if (what !== 'current') count.left += 1;
      if (what === 'conflict') this.recent.forget(lost.known);
      else if (!isWhole || what === 'elsewhere' || what === 'transaction') this.recent.outlive(lost.known);
    } catch (error) {
      if (store.isOutage(error)) throw error;
      this.leave(lost.known, error, count);
    }
  }

  /** Retries what may be repeated until the database answers. */
  private persist<T>(call: () => Promise<T>): Promise<T> {
    return repeated(call, (error) => this.ports.store.isOutage(error) && !this.isHastened, this.ports);
  }
}

function waitsForOthers({ last }: KnownSaga): boolean {
  return last !== undefined && [...last.state.steps.values()].some(({ child }) => child !== undefined);
}
