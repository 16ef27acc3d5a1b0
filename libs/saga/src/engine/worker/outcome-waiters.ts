import { SagaNotFoundError, SagaTimeoutError, SagaUnavailableError } from '../../errors.js';
import type { SagaState } from '../../machine/saga-state.js';
import type { Clock, Timer } from '../../shared/clock.js';
import { withoutContext } from '../../shared/own-context.js';
import type { SagaStore } from '../ports/saga-store.js';
import { SlotMap } from '../../shared/slot-map.js';

/** What a settled saga came to. A class, since it lives long: see NOTHING. */
export class SettledSaga {
  constructor(
    readonly id: string,
    readonly state: SagaState,
  ) {}
}

/** A class, since it lives long: see NOTHING. */
class Waiter {
  /** The timer of a waiter with a timeout. */
  timer: Timer | undefined;

  constructor(
    readonly resolve: (saga: SettledSaga) => void,
    readonly reject: (error: unknown) => void,
    /** The transaction that started the saga is still open, so that it is not there yet. Undefined: it was committed. */
    readonly isUncommitted: (() => boolean) | undefined,
    /** Another who waits for the same saga. */
    public next: Waiter | undefined,
  ) {}
}

/** How long (ms) a call waits for the answer of the store after its own time is over. */
const ANSWERED_WITHIN = 1_000;

export interface OutcomeWaitersOptions {
  readonly store: Pick<SagaStore, 'watch' | 'missing'>;
  /** True: this process runs the saga now, and will say when it is settled. */
  readonly runsHere: (id: string) => boolean;
  /**
   * Milliseconds before others are asked: a saga that was just started, and is about to be taken up here, need not
   * be marked. 0 in a process that runs none.
   */
  readonly patience: number;
  readonly clock: Clock;
}

/**
 * The calls that wait for sagas to settle. A saga that runs in this process is answered from memory. The row of any
 * other saga is marked as watched, once, and its settling is announced. No waiter holds a connection.
 */
export class OutcomeWaiters {
  private readonly waiters = new SlotMap<string, Waiter>();
  private unwatched = new Set<string>();
  private looking = false;
  /** End the calls whose time was over before the store had answered. */
  private late: (() => void)[] = [];
  private closed = false;

  constructor(private readonly options: OutcomeWaitersOptions) {}

  /** The sagas that calls wait for. */
  ids(): Iterable<string> {
    return this.waiters.keys();
  }

  /** Anyone waiting for sagas that run elsewhere? */
  get waitsForOthers(): boolean {
    for (const id of this.waiters.keys()) if (!this.options.runsHere(id)) return true;
    return false;
  }

  /** @param isUncommitted true as long as the transaction that started the saga is open */
  wait(id: string, timeout?: number, isUncommitted?: () => boolean): Promise<SettledSaga> {
    return new Promise((resolve, reject) => {
      const waiter = new Waiter(resolve, reject, isUncommitted, this.waiters.get(id));
      if (timeout !== undefined) {
        waiter.timer = this.options.clock.after(timeout, () => this.timedOut(id, waiter, timeout));
      }
      this.waiters.set(id, waiter);
      if (!this.options.runsHere(id)) withoutContext(() => this.look([id]));
    });
  }

  /** A saga that has ended is one that has, however short the time: an answer that is about to come is waited for. */
  private timedOut(id: string, waiter: Waiter, timeout: number): void {
    const { clock, runsHere } = this.options;
    const end = (): void => {
      clock.cancel(waiter.timer);
      this.leave(id, waiter);
      waiter.reject(new SagaTimeoutError(`Saga ${id} did not finish within ${timeout} ms. It continues.`));
    };
    if (!this.looking || runsHere(id)) return end();
    waiter.timer = clock.after(ANSWERED_WITHIN, end);
    this.late.push(end);
  }

  settled(saga: SettledSaga): void {
    this.end(saga.id, ({ resolve }) => resolve(saga));
  }

  /** The saga does not run here any more; from now on others will tell. */
  left(id: string): void {
    if (this.waiters.has(id)) this.look([id]);
  }

  /** Asks for all that run elsewhere: the guarantee, where announcements may be lost. */
  poll(): void {
    const ids = [...this.waiters.keys()].filter((id) => !this.options.runsHere(id));
    this.look(ids);
    void this.rejectMissing(ids.filter((id) => !this.isUncommitted(id)));
  }

  /**
   * This process receives no more hints, while sagas continue elsewhere. All waiting calls are rejected. A later call
   * is answered from the store, once.
   */
  close(): void {
    this.closed = true;
    for (const id of [...this.waiters.keys()]) this.reject(id, closing(id));
  }

  private isUncommitted(id: string): boolean {
    for (let waiter = this.waiters.get(id); waiter; waiter = waiter.next)
      if (waiter.isUncommitted?.()) return true;
    return false;
  }

  /** What was deleted, or was started in a transaction that was rolled back, never settles. */
  private async rejectMissing(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    // If it fails, the next poll asks again.
    const missing = await this.options.store.missing(ids).catch(() => []);
    for (const id of missing)
      this.reject(
        id,
        new SagaNotFoundError(
          `Saga ${id} does not exist: it was deleted, or the transaction that started it was rolled back.`,
        ),
      );
  }

  private reject(id: string, error: Error): void {
    this.end(id, ({ reject }) => reject(error));
  }

  /** Settles all calls that wait for this saga. */
  private end(id: string, tell: (waiter: Waiter) => void): void {
    let waiter = this.waiters.get(id);
    this.waiters.delete(id);
    for (; waiter; waiter = waiter.next) {
      this.options.clock.cancel(waiter.timer);
      tell(waiter);
    }
  }

  private leave(id: string, waiter: Waiter): void {
    let before = this.waiters.get(id);
    if (before !== waiter) {
      while (before && before.next !== waiter) before = before.next;
      if (before) before.next = waiter.next;
    } else if (waiter.next) this.waiters.set(id, waiter.next);
    else this.waiters.delete(id);
  }

  private look(ids: string[]): void {
    for (const id of ids) this.unwatched.add(id);
    if (this.looking || this.unwatched.size === 0) return;
    this.looking = true;
    this.options.clock.after(this.options.patience, () => void this.lookNow());
  }

  /** One query for all who came meanwhile. When it fails, the next poll asks again. */
  private async lookNow(): Promise<void> {
    for (let ids = this.takeUnwatched(); ids.length > 0; ids = this.takeUnwatched()) {
      try {
        for (const saga of await this.options.store.watch(ids)) {
          if ('unreadable' in saga) this.reject(saga.id, saga.unreadable);
          else this.settled(saga);
        }
      } catch {
        if (!this.closed) break;
      }
      if (this.closed) for (const id of ids) this.reject(id, closing(id));
    }
    this.looking = false;
    const { late } = this;
    this.late = [];
    for (const end of late) end();
  }

  /** The sagas that still run elsewhere, and that a call still waits for. */
  private takeUnwatched(): string[] {
    const ids = [...this.unwatched].filter((id) => this.waiters.has(id) && !this.options.runsHere(id));
    this.unwatched = new Set();
    return ids;
  }
}

function closing(id: string): SagaUnavailableError {
  return new SagaUnavailableError(
    `Saga ${id} has not finished, and this process is shutting down. The saga continues in another process. Wait for it there.`,
  );
}
