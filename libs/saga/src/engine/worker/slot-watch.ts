import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { Clock } from '../../shared/clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { LimitedSteps, SweptSaga } from '../ports/step-slots.js';
import { serializeError } from '../payload/serialize-error.js';

/** Milliseconds between two looks of a process whose steps have no limit: for what waits for one that was removed. */
const WITHOUT_LIMITS_MS = 60_000;

export interface SlotWatchPorts {
  readonly store: Pick<SagaStore, 'stepSlots' | 'isTransient'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: EngineLog;
}

/** Looks for slots of steps that are free although no worker has freed them: the one that held them was lost. */
export class SlotWatch {
  private looking: Promise<void> | undefined;
  private readonly sagas: readonly SweptSaga[];
  private readonly hasLimits: boolean;
  private lookedAt = -Infinity;

  constructor(
    graphs: readonly Pick<SagaGraph, 'name' | 'version' | 'steps'>[],
    private readonly ports: SlotWatchPorts,
  ) {
    this.sagas = graphs.map(({ name, version, steps }) => ({ name, version, steps: countsOf(steps) }));
    this.hasLimits = this.sagas.some(({ steps }) => steps.size > 0);
  }

  /** What a process before this one has left is found at once. */
  start(): void {
    if (this.hasLimits) this.look();
  }

  look(): void {
    if (this.sagas.length === 0) return;
    const now = this.ports.clock.monotonic();
    if (!this.hasLimits && now - this.lookedAt < WITHOUT_LIMITS_MS) return;
    this.lookedAt = now;
    this.looking ??= this.sweep().finally(() => (this.looking = undefined));
  }

  async stop(): Promise<void> {
    await this.looking;
  }

  private async sweep(): Promise<void> {
    const { store, log } = this.ports;
    try {
      await store.stepSlots.sweep(this.sagas);
    } catch (error) {
      // It is asked again.
      const problem = `The query for free slots of steps failed: ${serializeError(error).message}`;
      log[store.isTransient(error) ? 'debug' : 'error'](problem);
    }
  }
}

function countsOf(steps: SagaGraph['steps']): LimitedSteps {
  return new Map([...steps.values()].flatMap(({ name, limit }) => (limit ? [[name, limit.count]] : [])));
}
