import { AsyncResource } from 'node:async_hooks';
import { Observable, type Subscriber } from 'rxjs';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { isNewer, type SagaWatcher } from '../../engine/worker/saga-watchers.js';
import { isTerminal } from '../../machine/saga-state.js';
import { snapshotOf } from '../views/read-snapshot.js';
import type { SagaSnapshotOf } from '../views/saga-snapshot.js';
import type { ServiceParts } from '../assemble-engine.js';
import type { LoadedSaga } from './load-saga.js';

/** A state of a saga that is watched. It has the form of Nest's `MessageEvent`, so that `@Sse()` can send it. */
export interface SagaUpdate<S = unknown> {
  /** The saga's revision: the id of the event. */
  readonly id: string;
  /** The saga as `get()` returns it. */
  readonly data: SagaSnapshotOf<S>;
}

/** The updates of one loop. `return()` ends the watch, and a call of `next()` that waits. */
export interface SagaUpdateIterator<S = unknown> extends AsyncIterator<SagaUpdate<S>, undefined> {
  /** Ends the watch. */
  return(): Promise<IteratorResult<SagaUpdate<S>, undefined>>;
}

/** What `SagaService.watch()` returns: an Observable that can also be iterated with `for await`. */
export interface SagaUpdates<S = unknown> extends Observable<SagaUpdate<S>> {
  /** Each loop watches by itself. A loop that is busy skips to the newest state. */
  [Symbol.asyncIterator](): SagaUpdateIterator<S>;
}

/** @param begin loads the saga. What it throws is the error of the watcher */
export function watchSaga<S>(begin: () => Promise<LoadedSaga>): SagaUpdates<S> {
  return new WatchedUpdates<S>(begin);
}

/** Each subscription watches by itself, from the current state on. */
class WatchedUpdates<S> extends Observable<SagaUpdate<S>> implements SagaUpdates<S> {
  constructor(begin: () => Promise<LoadedSaga>) {
    super((subscriber) => {
      const subscription = new WatchSubscription<S>(subscriber);
      void begin().then(
        (begun) => subscription.begin(begun),
        (error: unknown) => subscriber.error(error),
      );
      return () => subscription.end();
    });
  }

  [Symbol.asyncIterator](): SagaUpdateIterator<S> {
    const newest = new NewestUpdate<SagaUpdate<S>>();
    const subscription = this.subscribe(newest);
    return {
      next: async () => {
        const value = await newest.take();
        return value === undefined ? { done: true, value } : { done: false, value };
      },
      return: async () => {
        subscription.unsubscribe();
        newest.complete();
        return { done: true, value: undefined };
      },
    };
  }
}

/** One watcher of a saga: converts one state after the other, and leaves out those that are outdated by then. */
class WatchSubscription<S> implements SagaWatcher {
  private parts: ServiceParts | undefined;
  private leave: (() => void) | undefined;
  /** The state that was taken last. */
  private last: StoredSaga | undefined;
  /** The newest state that is not converted yet. */
  private next: StoredSaga | undefined;
  private isConverting = false;
  /** The context of the subscription, in which the subscriber is called. */
  private readonly context = new AsyncResource('SagaWatch');

  constructor(private readonly subscriber: Subscriber<SagaUpdate<S>>) {}

  begin({ saga, parts }: LoadedSaga): void {
    if (this.subscriber.closed) return;
    this.parts = parts;
    this.changed(saga);
    if (!isTerminal(saga.state.status)) this.leave = parts.engine.watchers.watch(saga, this);
    // It failed at once: this process shuts down.
    if (this.subscriber.closed) this.end();
  }

  changed(saga: StoredSaga): void {
    if (this.last && !isNewer(saga, this.last)) return;
    this.last = this.next = saga;
    if (!this.isConverting) void this.context.runInAsyncScope(() => this.convert());
  }

  failed(error: Error): void {
    this.context.runInAsyncScope(() => this.subscriber.error(error));
  }

  end(): void {
    this.leave?.();
    this.leave = this.next = undefined;
  }

  private async convert(): Promise<void> {
    this.isConverting = true;
    try {
      while (this.next && !this.subscriber.closed) {
        const saga = this.next;
        this.next = undefined;
        const data = (await snapshotOf(saga, this.parts!)) as SagaSnapshotOf<S>;
        this.subscriber.next({ id: String(saga.checkpoints), data });
        if (isTerminal(saga.state.status)) this.subscriber.complete();
      }
    } catch (error) {
      this.subscriber.error(error);
    }
    this.isConverting = false;
  }
}

/** The newest update that a loop has not taken, and nothing else: a slow loop skips what is in between. */
class NewestUpdate<T> {
  private update: T | undefined;
  private end: { readonly error?: unknown } | undefined;
  private wake: (() => void) | undefined;

  next(update: T): void {
    this.update = update;
    this.wake?.();
  }

  error(error: unknown): void {
    this.end = { error };
    this.wake?.();
  }

  complete(): void {
    this.end = {};
    this.wake?.();
  }

  /** Undefined: there are no more. @throws the error by which they ended */
  async take(): Promise<T | undefined> {
    while (this.update === undefined && !this.end)
      await new Promise<void>((resolve) => (this.wake = resolve));
    const { update } = this;
    this.update = undefined;
    if (update !== undefined) return update;
    if (this.end && 'error' in this.end) throw this.end.error;
    return undefined;
  }
}
