import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { OperatorRules } from '../definition/describe/graph-record.js';
import type { EngineOptions } from '../engine/engine-options.js';
import type { SagaObservers } from '../engine/observe/saga-observers.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import type { SagaBackend } from '../engine/ports/saga-backend.js';
import type { SagaEngine } from '../engine/saga-engine.js';
import { agreeOnGraphs } from '../engine/versions/agree-on-graphs.js';
import { SagaUpgrades } from '../engine/versions/saga-upgrades.js';
import { engineServices, type ServiceParts } from './assemble-engine.js';
import type { SagaRegistry } from './discovery/saga.registry.js';
import type { SagaCleanup } from './maintenance/saga.cleanup.js';
import type { SagaPoller } from './maintenance/saga.poller.js';
import type { ResolvedSagaOptions } from './saga.options.js';

/** What the engines of a process share. */
export interface ProcessParts {
  readonly options: ResolvedSagaOptions;
  readonly registry: SagaRegistry;
  /** The sagas that the worker runs. */
  readonly runnable: readonly RunnableSaga[];
  readonly observers: SagaObservers;
  readonly poller: Pick<SagaPoller, 'start' | 'stop'>;
  readonly log: EngineLog;
}

/** What a process uses of an engine. */
export interface RuntimeParts extends ServiceParts {
  readonly engine: SagaEngine;
  readonly upgrades: SagaUpgrades;
  readonly cleanup: SagaCleanup;
}

export interface RuntimeSetup {
  readonly workerId: string;
  readonly engine?: Pick<EngineOptions, 'newId' | 'schedules'>;
  /** See SagaCleanup. */
  readonly grace?: () => number;
  /** What is done by the clock beside running sagas. Default: nothing but the deletion of ended ones. */
  readonly maintenance?: readonly { start(): void; stop(): Promise<void> }[];
  /** Is called last, once nothing uses the backend any more. */
  readonly closed?: () => Promise<void>;
}

/**
 * How long (whole ms) the engine waits for an answer: short enough for a renewal that hangs to be made again
 * within the lease, long enough not to take a busy server for a dead one.
 */
export function answerPatience(lease: number): number {
  return Math.max(1_000, Math.floor(lease / 3));
}

/** The name of a process among those that hold leases. */
export function newWorkerId(): string {
  return `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
}

/** What those have to know who operate sagas without these options. */
function operatorRules({ approvals, codec }: ResolvedSagaOptions): OperatorRules {
  return { ...(Object.keys(approvals).length > 0 && { approvals }), ...(codec && { coded: true }) };
}

/** An engine over a backend, in the life of the application. */
export class EngineRuntime<Parts extends RuntimeParts = RuntimeParts> {
  private constructor(
    readonly parts: Parts,
    private readonly setup: RuntimeSetup,
  ) {}

  /**
   * @param complete adds what only this backend has
   * @throws SagaDriftError
   */
  static async over<Parts extends RuntimeParts>(
    backend: SagaBackend,
    shared: ProcessParts,
    setup: RuntimeSetup,
    complete: (parts: RuntimeParts) => Parts,
  ): Promise<EngineRuntime<Parts>> {
    const { options, registry, runnable, observers, poller, log } = shared;
    const { workerId, engine, grace } = setup;
    const { graphs } = backend;
    await agreeOnGraphs(registry.all, graphs, options.onDrift, log, operatorRules(options));
    const parts = engineServices(backend, {
      ...{ options, registry, runnable, poller, grace, log },
      engine: { ...engine, observers, workerId },
    });
    const runs = options.worker ? runnable.map(({ graph }) => graph) : [];
    const upgrades = new SagaUpgrades(runs, graphs, parts.engine, log, options.pollInterval);
    return new EngineRuntime(complete({ ...parts, upgrades }), setup);
  }

  get waiters(): SagaEngine['waiters'] {
    return this.parts.engine.waiters;
  }

  async begin(): Promise<void> {
    const { engine, options, upgrades, cleanup } = this.parts;
    // Before the engine, whose start takes a while: what starts after it was stopped would go on for ever.
    if (options.worker) for (const one of [cleanup, ...(this.setup.maintenance ?? [])]) one.start();
    await engine.start();
    void upgrades.tick();
  }

  /** The scheduled poll. */
  tick(): void {
    this.parts.engine.tick();
    void this.parts.upgrades.tick();
  }

  async drain(): Promise<void> {
    const { engine, upgrades, cleanup } = this.parts;
    const others = (this.setup.maintenance ?? []).map((one) => one.stop());
    await Promise.all([cleanup.stop(), ...others, upgrades.stop(), engine.drain()]);
  }

  /** Hands the sagas that run here over to another process or application. */
  async retire(): Promise<void> {
    await this.parts.engine.retire();
  }

  async close(): Promise<void> {
    await this.parts.engine.close();
    await this.setup.closed?.();
  }
}
