import type { Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { newId } from '../shared/new-id.js';
import { SagaConfigurationError, SagaStateError } from '../errors.js';
import type { EngineCalls } from '../shards/engine-calls.js';
import { noShards, type ShardCalls } from '../nest/shards/shard-calls.js';
import { engineServices, type ServiceParts } from '../nest/assemble-engine.js';
import { SagaOperations } from '../nest/saga.operations.js';
import { SagaService } from '../nest/saga.service.js';
import type { ResolvedSagaOptions } from '../nest/saga.options.js';
import type { SagaRegistry } from '../nest/discovery/saga.registry.js';
import { MemorySagaStore } from '../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../store/memory/memory-wakeup.js';
import { currentCall } from './current-call.js';
import { type Fault, ScriptedCalls } from './scripted-calls.js';
import { PendingWork, RealTime } from './pending-work.js';
import { type CrashPoint, TestProcess } from './test-process.js';
import { PENDING_ANSWERS } from '../shared/later.js';
import { VirtualTime } from './virtual-time.js';

/**
 * Leases never run out by themselves, so that their renewal is no reason for virtual time to pass. A process that crashes
 * releases its lease at once.
 */
const LEASE = Infinity;
/** How long (ms) a method may do something real before virtual time goes on without it, if anything is to happen then. */
const REAL_PATIENCE = 500;
/** How long (ms) files may be read and written meanwhile: that ends by itself, but on a busy machine it takes its time. */
const FILE_PATIENCE = 30_000;

export interface TestWorldOptions {
  readonly registry: SagaRegistry;
  /** The name of the saga that is tested. */
  readonly saga: string;
  readonly options: ResolvedSagaOptions;
  readonly faults: readonly Fault[];
  readonly crashes: readonly CrashPoint[];
  readonly manager?: object;
  /** How long (ms) a run waits for a method in real time. */
  readonly patience: number;
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
  readonly operations: SagaOperations;
  /** Checkpoints so far. */
  readonly count = { checkpoints: 0 };
  crashed = 0;
  /** An error that the test must receive, whatever the saga does with it. */
  misuse: SagaConfigurationError | undefined;
  private readonly crashes: CrashPoint[];
  private readonly pending: PendingWork;
  private process!: TestProcess;
  private running!: ServiceParts;
  private started: Promise<void> = Promise.resolve();

  constructor(private readonly given: TestWorldOptions) {
    this.time = new VirtualTime(given.from);
    const manager = (given.manager ?? missingManager((error) => (this.misuse ??= error))) as EntityManager;
    this.store = new MemorySagaStore({ now: () => this.time.now, wakeup: this.hub.wakeup(), manager });
    this.pending = new PendingWork(given.patience);
    this.calls = new ScriptedCalls(given.saga, given.faults, this.pending, (id) => this.cancel(id));
    this.crashes = [...given.crashes];
    this.sagas = new SagaService(this);
    this.operations = new SagaOperations(this);
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
    const { pending } = this;
    const all = new RealTime();
    let quiet = all;
    do {
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      this.requireProgress();
      const endsByItself = (pending.size > 0 && usesFiles()) || PENDING_ANSWERS.size > 0;
      if (endsByItself && all.passed < FILE_PATIENCE) quiet = new RealTime();
    } while (pending.size + PENDING_ANSWERS.size > 0 && quiet.used < REAL_PATIENCE);
    pending.forgetEnded();
  }

  /** Waits for code of the user, as it does for the methods of sagas. */
  async settled<T>(what: string, call: () => Promise<T>): Promise<T> {
    let isSettled = false;
    const result = this.pending.during({ what }, call).finally(() => (isSettled = true));
    // It is awaited only below.
    result.catch(() => undefined);
    while (!isSettled) await this.settle();
    return result;
  }

  /** Lets time pass until the check gives true, or nothing is going to happen any more. */
  async proceedUntil(isDone: () => Promise<boolean>): Promise<void> {
    for (;;) {
      await this.settle();
      if (await isDone()) return;
      if (this.time.next !== undefined) this.time.proceed();
      else if (!this.pending.isAwaited) return;
    }
  }

  async proceedTo(until: number): Promise<void> {
    for (await this.settle(); this.time.next! <= until; await this.settle()) this.time.proceed();
    this.time.proceedTo(until);
    await this.settle();
  }

  /** @throws SagaTestHangError: this world has ended */
  private requireProgress(): void {
    try {
      this.pending.requireProgress();
    } catch (error) {
      this.process.stop();
      throw error;
    }
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
    const life = new TestProcess(this.store, this.crashes, this.count, () => this.takeOver());
    this.process = life;
    const sagas = registry.all.map((saga) => this.calls.around(saga, this, life));
    const { graphs, cleanup } = this.store;
    const backend = { store: this.process.store, graphs, cleanup, wakeup: this.hub.wakeup() };
    const parts = engineServices(backend, {
      ...{ registry, options, sagas, log },
      definitions: {
        awaitedSignals: registry.awaitedSignals,
        latest: (type) => registry.latest(type),
        checked: (graph, input) =>
          this.pending.during({ what: checkOf(graph.name) }, () => registry.checked(graph, input)),
      },
      engine: {
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
    this.running = { ...parts, shards: anyShard(parts.engine) };
    this.started = parts.engine.start();
  }

  /** The process is gone, and another finds what it has left. */
  private takeOver(): void {
    this.crashed += 1;
    this.store.loseLeases();
    this.begin();
  }
}

/** As an error names the check of a saga's input. */
export function checkOf(saga: string): string {
  return `The check of the input of saga '${saga}'`;
}

/** A file is being opened, read, written or the like. */
function usesFiles(): boolean {
  return process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq'));
}

/** A test has one store, in the place of every shard that a start names. */
export function anyShard(engine: EngineCalls): ShardCalls {
  return {
    place: async (saga) => ({ saga, engine }),
    status: async () => [],
    change: async (name, call) => {
      throw noShards(call, name);
    },
  };
}

/**
 * What transactional methods are given as `ctx.manager` and `ctx.transaction` in a test without one: whatever they use of it is an error.
 * @param onUse is notified of the error, too, since a step may swallow it
 */
function missingManager(onUse: (error: SagaConfigurationError) => void): object {
  return new Proxy(
    {},
    {
      get: (_target, property) => {
        // `await` and printing read these properties.
        if (typeof property === 'symbol' || property === 'then' || property === 'toJSON') return undefined;
        const error = new SagaConfigurationError(textOfUse(property));
        onUse(error);
        throw error;
      },
    },
  );
}

function textOfUse(property: string): string {
  const call = currentCall()?.call;
  const who = call ? `'${call.method}' of ${call.saga}` : 'A method';
  return (
    `${who} uses ctx.manager.${property}, but this SagaTest has no manager. Call .manager(fake) on the builder, with a fake ` +
    `of the methods that transactional steps and compensations call: SagaTest.of(…).manager({ ${property}: async () => undefined }). ` +
    `With another database layer than TypeORM, call .transaction(fake).`
  );
}
