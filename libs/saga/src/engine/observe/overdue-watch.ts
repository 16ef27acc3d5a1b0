import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { StoreClock } from '../../shared/store-clock.js';
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
  readonly storeClock: Pick<StoreClock, 'now'>;
}

/** Looks for sagas of this process that have not finished by their sla, and reports each, once. */
export class OverdueWatch {
  private looking: Promise<void> | undefined;

  /** The names of the sagas that have an sla. If there are none, the store is not queried. */
  private readonly names: readonly string[];

  constructor(
    graphs: readonly Pick<SagaGraph, 'name' | 'sla' | 'slaOf'>[],
    private readonly ports: OverdueWatchPorts,
  ) {
    const isWatched = ({ sla, slaOf }: Pick<SagaGraph, 'sla' | 'slaOf'>) => (sla ?? slaOf) !== undefined;
    this.names = [...new Set(graphs.filter(isWatched).map(({ name }) => name))];
  }

  look(): void {
    if (this.names.length === 0) return;
    this.looking ??= this.tellAll().finally(() => (this.looking = undefined));
  }

  async stop(): Promise<void> {
    await this.looking;
  }

  private async tellAll(): Promise<void> {
    const { store, observers, log, storeClock } = this.ports;
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
          observers.overdue(saga, storeClock.now());
        }
      }
    } catch (error) {
      // It is asked again.
      const problem = `The query for overdue sagas failed: ${serializeError(error).message}`;
      log[store.isTransient(error) ? 'debug' : 'error'](problem);
    }
  }
}
