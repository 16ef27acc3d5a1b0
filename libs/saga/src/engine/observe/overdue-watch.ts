import { type EngineLog, subjectOf } from '../ports/engine-log.js';
import type { SagaObservers } from './saga-observers.js';
import type { SagaStore } from '../ports/saga-store.js';
import { serializeError } from '../payload/serialize-error.js';

/** Sagas that are notified of with one statement. */
const BATCH = 100;

export interface OverdueWatchPorts {
  readonly store: Pick<SagaStore, 'markOverdue' | 'isTransient'>;
  readonly observers: SagaObservers;
  readonly log: EngineLog;
  /** The store's time. */
  readonly now: () => number;
}

/** Looks for sagas of this process that have not finished by their sla, and reports each, once. */
export class OverdueWatch {
  private looking: Promise<void> | undefined;

  constructor(
    /** Of those that have an sla; none: nothing is asked. */
    private readonly names: readonly string[],
    private readonly ports: OverdueWatchPorts,
  ) {}

  look(): void {
    if (this.names.length === 0) return;
    this.looking ??= this.tellAll().finally(() => (this.looking = undefined));
  }

  async stop(): Promise<void> {
    await this.looking;
  }

  private async tellAll(): Promise<void> {
    const { store, observers, log, now } = this.ports;
    try {
      for (let found = BATCH; found === BATCH;) {
        const overdue = await store.markOverdue(this.names, BATCH);
        found = overdue.length;
        for (const saga of overdue) {
          const since = new Date(saga.slaAt).toISOString();
          log.warn(
            `Saga ${saga.id} (${saga.name}) is overdue since ${since}: its status is ${saga.status}, its step '${saga.step}'`,
            subjectOf(saga),
          );
          observers.overdue(saga, now());
        }
      }
    } catch (error) {
      // It is asked again.
      const problem = `The query for overdue sagas failed: ${serializeError(error).message}`;
      log[store.isTransient(error) ? 'debug' : 'error'](problem);
    }
  }
}
