import type { ObservedEvent } from '../definition/observed-event.js';
import type { SagaState, SagaStatus } from '../machine/saga-state.js';
import type { EngineLog } from './engine-log.js';
import { headOf, observedChanges, type ToldSaga } from './observed-changes.js';
import { serializeError } from './serialize-error.js';

export type SagaObserver = (event: ObservedEvent) => void;

/**
 * Who is told what happens to sagas in this process, once it is stored. Nobody waits for them, and what they throw is
 * a line in the log. While there are none, nothing is derived.
 */
export class SagaObservers {
  private observers: readonly SagaObserver[] = [];

  constructor(private readonly log: EngineLog) {}

  add(observer: SagaObserver): void {
    this.observers = [...this.observers, observer];
  }

  /** The later of two states is stored. */
  changed(saga: ToldSaga, before: SagaState, after: SagaState, at: number): void {
    if (this.observers.length === 0) return;
    for (const event of observedChanges(saga, before, after, at)) this.tell(event);
  }

  /** A worker begins with a saga that nothing has happened to. */
  started(saga: ToldSaga, at: number): void {
    if (this.observers.length > 0) this.tell({ type: 'started', ...headOf(saga, 'running', at) });
  }

  /** It was not finished within its `sla`. */
  overdue(saga: ToldSaga & { readonly status: SagaStatus }, at: number): void {
    if (this.observers.length > 0) this.tell({ type: 'overdue', ...headOf(saga, saga.status, at) });
  }

  private tell(event: ObservedEvent): void {
    for (const observe of this.observers) {
      try {
        observe(event);
      } catch (error) {
        this.log.error(`An observer of '${event.type}' failed: ${serializeError(error).message}`);
      }
    }
  }
}
