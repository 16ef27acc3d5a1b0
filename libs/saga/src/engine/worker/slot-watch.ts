import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { Clock } from '../../shared/clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { SagaStore } from '../ports/saga-store.js';
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
  /** By the names of the sagas of this process, of the highest version of each. */
  private readonly limits: ReadonlyMap<string, ReadonlyMap<string, number>>;
  private readonly hasLimits: boolean;
  private lookedAt = -Infinity;

  constructor(
    graphs: readonly Pick<SagaGraph, 'name' | 'version' | 'steps'>[],
    private readonly ports: SlotWatchPorts,
  ) {
    const byVersion = [...graphs].sort((a, b) => a.version - b.version);
    this.limits = new Map(byVersion.map(({ name, steps }) => [name, countsOf(steps)]));
    this.hasLimits = [...this.limits.values()].some(({ size }) => size > 0);
  }

  /** What a process before this one has left is found at once. */
  start(): void {
    if (this.hasLimits) this.look();
  }

  look(): void {
    if (this.limits.size === 0) return;
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
      await store.stepSlots.sweep(this.limits);
    } catch (error) {
      // It is asked again.
      const problem = `The query for free slots of steps failed: ${serializeError(error).message}`;
      log[store.isTransient(error) ? 'debug' : 'error'](problem);
    }
  }
}

function countsOf(steps: SagaGraph['steps']): ReadonlyMap<string, number> {
  return new Map(
    [...steps.values()].flatMap(({ name, sharedConcurrency }) =>
      sharedConcurrency ? [[name, sharedConcurrency.count]] : [],
    ),
  );
}
