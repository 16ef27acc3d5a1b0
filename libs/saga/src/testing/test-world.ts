import type { Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { newId } from '../shared/new-id.js';
import { SagaConfigurationError, SagaStateError } from '../errors.js';
import { anyShard } from './any-shard.js';
import { assembleEngine, type ServiceParts } from '../nest/assemble-engine.js';
import { SagaService } from '../nest/saga.service.js';
import type { ResolvedSagaOptions } from '../nest/saga.options.js';
import type { SagaRegistry } from '../nest/discovery/saga.registry.js';
import { MemorySagaStore } from '../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../store/memory/memory-wakeup.js';
import { missingManager } from './missing-manager.js';
import { type Fault, ScriptedCalls } from './scripted-calls.js';
import { type CrashPoint, TestProcess } from './test-process.js';
import { PENDING_ANSWERS } from '../shared/later.js';
import { VirtualTime } from './virtual-time.js';

/** Leases never run out by themselves: virtual years may pass, and a process that crashes releases its lease at once. */
const LEASE = 100 * 365 * 86_400_000;
/**
 * How long (ms) a method may do something real before virtual time goes on without it: both of real time and of the
 * CPU time of this thread, since on a busy machine half a second may pass in which the method never has its turn.
 */
const REAL_PATIENCE = 500;
/** How long (ms) files may be read and written meanwhile: that ends by itself, but on a busy machine it takes its time. */
const FILE_PATIENCE = 30_000;

/** Deletes nothing: what the store in memory cannot do is refused. */
const NO_CLEANUP: ServiceParts['cleanup'] = {
  cleanup: async () => {
    throw new SagaConfigurationError(
      `cleanup() does nothing in a SagaTest: its store is in memory, and empty at the start of each run. Test retention ` +
        `on a database.`,
    );
  },
};

export interface TestWorldOptions {
  readonly registry: SagaRegistry;
  /** The name of the saga that is tested. */
  readonly saga: string;
  readonly options: ResolvedSagaOptions;
  readonly faults: readonly Fault[];
  readonly crashes: readonly CrashPoint[];
  readonly manager?: object;
  /** When time begins (milliseconds since the epoch), if schedules are to start sagas. Default: they do not. */
  readonly from?: number;
  readonly log: Pick<Logger, 'debug' | 'log' | 'warn' | 'error'>;
}

/** A store in memory, virtual time, and one process after the other that runs sagas: all that a run needs. */
export class TestWorld {
  readonly time: VirtualTime;
  readonly hub = new MemoryWakeupHub();
  readonly store: MemorySagaStore;
  readonly calls: ScriptedCalls;
  readonly sagas: SagaService;
  /** Checkpoints so far. */
  readonly count = { checkpoints: 0 };
  crashed = 0;
  /** An error that the test must receive, whatever the saga does with it. */
  misuse: SagaConfigurationError | undefined;
  private readonly crashes: CrashPoint[];
  private process!: TestProcess;
  private running!: ServiceParts;
  private started: Promise<void> = Promise.resolve();

  constructor(private readonly given: TestWorldOptions) {
    this.time = new VirtualTime(given.from);
    const manager = (given.manager ?? missingManager((error) => (this.misuse ??= error))) as EntityManager;
    this.store = new MemorySagaStore({ now: () => this.time.now, wakeup: this.hub.wakeup(), manager });
    this.calls = new ScriptedCalls(given.saga, given.faults, (id) => this.cancel(id));
    this.crashes = [...given.crashes];
    this.sagas = new SagaService(this);
    this.begin();
  }

  async ready(): Promise<ServiceParts> {
    return this.running;
  }

  get registry(): SagaRegistry {
    return this.given.registry;
  }

  /** Whose crashes have not come. */
  get missedCrashes(): readonly CrashPoint[] {
    return this.crashes;
  }

  /** Lets happen all that can without time passing. */
  async settle(): Promise<void> {
    await this.started;
    const began = performance.now();
    let quiet = { since: began, cpu: cpuUsage() };
    const isPatient = () =>
      performance.now() - quiet.since < REAL_PATIENCE || cpuSince(quiet.cpu) < REAL_PATIENCE;
    do {
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      const endsByItself = (this.calls.inProgress > 0 && usesFiles()) || PENDING_ANSWERS.size > 0;
      if (endsByItself && performance.now() - began < FILE_PATIENCE)
        quiet = { since: performance.now(), cpu: cpuUsage() };
    } while (this.calls.inProgress + PENDING_ANSWERS.size > 0 && isPatient());
  }

  /** Lets time pass until the check gives true, or nothing is going to happen any more. */
  async proceedUntil(isDone: () => Promise<boolean>): Promise<void> {
    for (;;) {
      await this.settle();
      if (await isDone()) return;
      if (this.time.next === undefined) return;
      this.time.proceed();
    }
  }

  async proceedTo(until: number): Promise<void> {
    for (await this.settle(); this.time.next! <= until; await this.settle()) this.time.proceed();
    this.time.proceedTo(until);
    await this.settle();
  }

  /** Gives the reason if the cancellation is refused. */
  private async cancel(id: string): Promise<string | undefined> {
    try {
      await this.sagas.cancel(id, { by: 'the test' });
      return undefined;
    } catch (error) {
      if (!(error instanceof SagaStateError)) throw error;
      return error.message;
    }
  }

  private begin(): void {
    const { registry, options, log } = this.given;
    this.process = new TestProcess(this.store, this.crashes, this.count, () => this.takeOver());
    const sagas = registry.all.map((saga) => this.calls.around(saga, this));
    const { graphs } = this.store;
    const engine = assembleEngine({
      ...{ store: this.process.store, wakeup: this.hub.wakeup(), graphs, sagas, log },
      definitions: {
        awaitedSignals: registry.awaitedSignals,
        latest: (type) => registry.latest(type),
        checked: (graph, input) => this.calls.during(() => registry.checked(graph, input)),
      },
      options: {
        ...options,
        schedules: this.given.from !== undefined,
        // Everything happens in one process, which gives the hints.
        watchInterval: Infinity,
        // No poll in between: a year of waiting is one step.
        worker: { ...options.worker!, longestWait: Infinity },
        // No jitter: a test may say how long a saga takes.
        ...{ workerId: `test-${this.crashed}`, lease: LEASE, clock: this.time.clockOf(this.process) },
        ...{ random: () => 0, newId },
      },
    });
    this.running = { engine, registry, options, graphs, cleanup: NO_CLEANUP, shards: anyShard(engine) };
    this.started = engine.start();
  }

  /** The process is gone, and another finds what it has left. */
  private takeOver(): void {
    this.crashed += 1;
    this.store.loseLeases();
    this.begin();
  }
}

/**
 * The CPU time of this thread, because a test runner may run other tests in other threads. Before Node 22.19, only that of
 * the process is known.
 */
const cpuUsage: typeof process.cpuUsage = (before) =>
  process.threadCpuUsage ? process.threadCpuUsage(before) : process.cpuUsage(before);

/** CPU time in ms. */
function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = cpuUsage(before);
  return (user + system) / 1_000;
}

/** A file is being opened, read, written or the like. */
function usesFiles(): boolean {
  return process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq'));
}
