import { SagaNotFoundError, SagaUnavailableError } from '../../errors.js';
import { isTerminal } from '../../machine/saga-state.js';
import type { Clock, Timer } from '../../shared/clock.js';
import { withoutContext } from '../../shared/own-context.js';
import { type SagaChange, type SagaStore, type SeenSaga, seenOf } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';

/** Receives what becomes of a saga that it watches: each newer state, until `ended` or `failed`. */
export interface SagaWatcher {
  /** Never an older state than before. States in between may be left out. */
  changed(saga: StoredSaga): void;
  failed(error: Error): void;
}

export interface SagaWatchersOptions {
  readonly store: Pick<SagaStore, 'changes'>;
  readonly clock: Clock;
  /**
   * Milliseconds between two queries for a saga that has just changed. Each query that finds no change makes the next one
   * half as late again, up to eight times as much. Infinity: only hints are followed, at once.
   */
  readonly interval: number;
}

/** How much later the next query comes after one that found no change, and at most, in intervals. */
const SLOWER = 1.5;
const SLOWEST = 8;
/** Milliseconds between two queries, whatever hints arrive. */
const HINT_INTERVAL = 50;
/** Sagas that one statement asks for. */
const ASKED_AT_ONCE = 5_000;

/** A saga that is watched in this process, by one or more. A class, since it lives long: see NOTHING. */
class WatchedSaga {
  readonly watchers = new Set<SagaWatcher>();
  /** What was seen of it last, in the form of the store. Undefined: only the store knows it. */
  seen: string | undefined;
  /** The state that its watchers have. */
  state: StoredSaga;
  /** Monotonic time at which it was read, at the latest. */
  stateAt: number;
  /** Monotonic time of the next query, and the milliseconds up to the one after. */
  dueAt: number;
  wait: number;

  constructor(
    readonly id: string,
    saga: StoredSaga,
    now: number,
    interval: number,
  ) {
    this.state = saga;
    this.stateAt = now;
    this.seen = saga.reports === undefined ? seenOf(saga) : undefined;
    this.wait = interval;
    this.dueAt = now + interval;
  }
}

/**
 * The sagas that this process watches: one query at a time for all of which something may have changed, however many
 * watch each. What changes in this process is asked for at once; the rest is asked for at intervals. No watcher holds a
 * connection, nothing is written, and without watchers nothing happens.
 */
export class SagaWatchers {
  private readonly watched = new Map<string, WatchedSaga>();
  private timer: Timer | undefined;
  /** Monotonic time at which `timer` is over. */
  private timerAt = Infinity;
  /** Monotonic time of the last query. */
  private askedAt = -Infinity;
  private isAsking = false;
  private isClosed = false;

  constructor(private readonly options: SagaWatchersOptions) {}

  /** Sagas that are watched. */
  get size(): number {
    return this.watched.size;
  }

  /**
   * Watches a saga that has not ended.
   * @param saga its state as the watcher has it
   * @returns a function that ends this
   */
  watch(saga: StoredSaga, watcher: SagaWatcher): () => void {
    if (this.isClosed) {
      watcher.failed(closing(saga.id));
      return () => undefined;
    }
    const { clock, interval } = this.options;
    const known = this.watched.get(saga.id);
    const watched = known ?? new WatchedSaga(saga.id, saga, clock.monotonic(), interval);
    this.watched.set(saga.id, watched);
    watched.watchers.add(watcher);
    if (known && isNewer(known.state, saga) && !isSameMoment(known.state, saga)) watcher.changed(known.state);
    // What it has is newer than what the others have, or of the same moment with other reports: the store knows.
    else if (known && isNewer(saga, known.state)) known.dueAt = -Infinity;
    withoutContext(() => this.schedule(watched.dueAt));
    return () => this.leave(watched, watcher);
  }

  /** Something has happened to a saga. */
  hint(id: string): void {
    const watched = this.watched.get(id);
    if (!watched) return;
    watched.dueAt = -Infinity;
    this.schedule(watched.dueAt);
  }

  /** This process shuts down. All watchers fail, and so do those that come later. */
  close(): void {
    this.isClosed = true;
    for (const watched of [...this.watched.values()]) this.fail(watched, closing(watched.id));
  }

  private leave(watched: WatchedSaga, watcher: SagaWatcher): void {
    watched.watchers.delete(watcher);
    if (watched.watchers.size === 0) this.forget(watched);
  }

  private forget(watched: WatchedSaga): void {
    if (this.watched.get(watched.id) === watched) this.watched.delete(watched.id);
    if (this.watched.size === 0) this.stop();
  }

  private stop(): void {
    this.options.clock.cancel(this.timer);
    this.timer = undefined;
    this.timerAt = Infinity;
  }

  private fail(watched: WatchedSaga, error: Error): void {
    const watchers = [...watched.watchers];
    this.forget(watched);
    for (const watcher of watchers) watcher.failed(error);
  }

  /** A saga is due for the next query, which does not come before HINT_INTERVAL has passed since the last one. */
  private schedule(dueAt: number): void {
    const at = this.options.interval === Infinity ? dueAt : Math.max(dueAt, this.askedAt + HINT_INTERVAL);
    // The end of a query looks at all of them.
    if (this.isAsking || at === Infinity || at >= this.timerAt) return;
    this.stop();
    const { clock, interval } = this.options;
    this.timerAt = at;
    // Without queries in between, no time has to pass: it may be virtual.
    if (interval === Infinity) return void Promise.resolve().then(() => this.ask());
    this.timer = clock.after(Math.max(0, at - clock.monotonic()), () => {
      void this.ask();
    });
  }

  /** If a query fails, the next one comes at the interval. */
  private async ask(): Promise<void> {
    const { clock } = this.options;
    this.stop();
    this.isAsking = true;
    this.askedAt = clock.monotonic();
    const due = [...this.watched.values()].filter(({ dueAt }) => dueAt <= this.askedAt);
    for (const watched of due) this.postpone(watched);
    for (let n = 0; n < due.length; n += ASKED_AT_ONCE) await this.askFor(due.slice(n, n + ASKED_AT_ONCE));
    this.isAsking = false;
    let dueAt = Infinity;
    for (const watched of this.watched.values()) dueAt = Math.min(dueAt, watched.dueAt);
    this.schedule(dueAt);
  }

  private postpone(watched: WatchedSaga): void {
    watched.dueAt = this.askedAt + watched.wait;
    watched.wait = Math.min(watched.wait * SLOWER, this.options.interval * SLOWEST);
  }

  private async askFor(due: readonly WatchedSaga[]): Promise<void> {
    const asked: SeenSaga[] = due.map(({ id, seen }) => (seen === undefined ? { id } : { id, seen }));
    const changes = await this.options.store.changes(asked).catch(() => []);
    for (const change of changes) this.take(change);
  }

  private take({ id, seen, saga }: SagaChange): void {
    const watched = this.watched.get(id);
    if (!watched) return;
    if (!saga) return this.fail(watched, new SagaNotFoundError(`Saga ${id} was deleted.`));
    if ('unreadable' in saga) return this.fail(watched, saga.unreadable);
    watched.seen = seen;
    if (!isNewer(saga, watched.state)) return;
    if (this.askedAt < watched.stateAt && isSameMoment(saga, watched.state)) return;
    watched.state = saga;
    watched.stateAt = this.options.clock.monotonic();
    watched.wait = this.options.interval;
    watched.dueAt = Math.min(watched.dueAt, this.askedAt + this.options.interval);
    const watchers = [...watched.watchers];
    if (isTerminal(saga.state.status)) this.forget(watched);
    for (const watcher of watchers) watcher.changed(saga);
  }
}

/** The two differ in nothing that tells which one is the later. */
function isSameMoment(one: StoredSaga, other: StoredSaga): boolean {
  return one.checkpoints === other.checkpoints && one.epoch === other.epoch;
}

/** Is the first of two states of a saga the later one, or of the same moment with something else in it? */
export function isNewer(saga: StoredSaga, than: StoredSaga): boolean {
  if (saga.checkpoints !== than.checkpoints) return saga.checkpoints > than.checkpoints;
  if (saga.epoch !== than.epoch) return saga.epoch > than.epoch;
  return saga.reports !== than.reports || seenOf(saga) !== seenOf(than);
}

function closing(id: string): SagaUnavailableError {
  return new SagaUnavailableError(
    `Saga ${id} has not ended, and this process is shutting down. The saga continues in another process. Watch it there.`,
  );
}
