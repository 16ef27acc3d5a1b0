import { Module, type Type } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { SagaOperations, SagaService } from '../../../libs/saga/src/index.js';
import { systemClock } from '../../../libs/saga/src/shared/clock.js';
import { newId } from '../../../libs/saga/src/shared/new-id.js';
import type { Lease, StoredSaga } from '../../../libs/saga/src/engine/ports/stored-saga.js';
import type { RunnableSaga } from '../../../libs/saga/src/engine/ports/invoker.js';
import type { SagaStore } from '../../../libs/saga/src/engine/ports/saga-store.js';
import { engineServices, type ServiceParts } from '../../../libs/saga/src/nest/assemble-engine.js';
import type { SagaRegistry } from '../../../libs/saga/src/nest/discovery/saga.registry.js';
import { SagaExplorer } from '../../../libs/saga/src/nest/discovery/saga.explorer.js';
import {
  findUnexplained,
  type UnexplainedSaga,
} from '../../../libs/saga/src/nest/maintenance/find-unexplained.js';
import { withDefaults } from '../../../libs/saga/src/nest/saga.options.js';
import { MemoryWakeupHub } from '../../../libs/saga/src/store/memory/memory-wakeup.js';
import type { StoreSubject } from '../../contract/store-subject.contract.js';
import { anyShard } from '../../../libs/saga/src/testing/test-world.js';
import type { EngineOptions } from '../../../libs/saga/src/engine/engine-options.js';
import type { SagaEngine } from '../../../libs/saga/src/engine/saga-engine.js';
import { until } from '../../support/gate.js';
import { FailingOverStore } from './failing-over-store.js';

@Module({})
class ScenesModule {}

const OPTIONS = withDefaults({});
const SILENT = { debug: () => {}, log: () => {}, warn: () => {}, error: () => {} };

/** Holds what the scenes wait for: a worker that keeps its leases for a day. */
export const BLOCKER: Lease = { worker: 'blocker', duration: 86_400_000 };

export async function registryOf(providers: readonly Type[]): Promise<SagaRegistry> {
  const module = {
    module: ScenesModule,
    imports: [DiscoveryModule],
    providers: [SagaExplorer, ...providers],
  };
  const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  return app.get(SagaExplorer).explore(OPTIONS);
}

/** Another version of the same saga. */
function nextVersion(saga: RunnableSaga): RunnableSaga {
  return { ...saga, graph: { ...saga.graph, version: 2 } };
}

/** Two processes, one that starts sagas and one that runs them, over a store whose time passes on request. */
export class WaitWorld {
  readonly service = new SagaService({ ready: async () => this.parts });
  readonly operations = new SagaOperations({ ready: async () => this.parts });
  private parts!: ServiceParts;
  private processes = 0;
  private readonly engines: SagaEngine[] = [];
  private poll: NodeJS.Timeout | undefined;
  private readonly database: FailingOverStore;

  constructor(
    readonly subject: StoreSubject,
    readonly registry: SagaRegistry,
  ) {
    this.database = new FailingOverStore(subject.store);
  }

  get store(): SagaStore {
    return this.subject.store;
  }

  /** The process begins that starts sagas, and through which operators act. */
  async admit(): Promise<void> {
    const services = await this.process();
    this.parts = { ...services, shards: anyShard(services.engine) };
  }

  /** The process begins that runs sagas. */
  async work(): Promise<void> {
    await this.process({ ...OPTIONS.worker!, longestWait: 20 });
    this.pollOn();
  }

  /** The process that runs sagas is gone, with all that it knows. */
  async loseWorker(): Promise<void> {
    await this.engines.pop()!.stop();
  }

  async begin(): Promise<void> {
    await this.admit();
    await this.work();
  }

  private pollOn(): void {
    clearInterval(this.poll);
    this.poll = setInterval(() => {
      for (const engine of this.engines) engine.tick();
    }, 20);
  }

  private async process(worker?: EngineOptions['worker']) {
    const { registry, subject, database } = this;
    const { graphs, cleanup } = subject;
    const backend = { store: database.store, wakeup: new MemoryWakeupHub().wakeup(), graphs, cleanup };
    const sagas = [...registry.all, ...registry.all.map(nextVersion)];
    const services = engineServices(backend, {
      ...{ registry, options: OPTIONS, sagas, log: SILENT },
      engine: {
        ...{ schedules: false, watchInterval: Infinity, worker },
        recovery: { window: 3_600_000, bytes: 2 ** 26 },
        ...{ workerId: `process-${(this.processes += 1)}`, lease: 600_000, clock: systemClock },
        ...{ random: () => 0, newId },
      },
    });
    await services.engine.start();
    this.engines.push(services.engine);
    return services;
  }

  async end(): Promise<void> {
    clearInterval(this.poll);
    for (const engine of this.engines.splice(0)) await engine.stop();
  }

  /** Both processes live on, and notice a failover. `lose`: commits that the new primary does not have. */
  async failOver(lose: () => Promise<void>): Promise<void> {
    clearInterval(this.poll);
    await this.database.failOver(lose);
    this.pollOn();
  }

  /** The sagas that nothing will move. */
  unexplained(): Promise<UnexplainedSaga[]> {
    const graphOf = ({ name }: StoredSaga) =>
      this.registry.all.find(({ graph }) => graph.name === name)?.graph;
    return findUnexplained({ store: this.store, graphOf });
  }

  /** Lets time pass, or sets the clock back. No process runs meanwhile: what is stored moves in several statements. */
  async pass(ms: number): Promise<void> {
    await this.end();
    await this.subject.advance(ms);
    await this.begin();
  }

  async load(id: string): Promise<StoredSaga> {
    return (await this.store.load({ id }))!;
  }

  /** What is due was looked at, and nothing follows from it. `waiting`: those that are due, since they wait for a slot. */
  async settle(ids: readonly string[], waiting: ReadonlySet<string>): Promise<void> {
    let before = '';
    await until(async () => {
      const { now } = await this.store.claim({
        lease: BLOCKER,
        sagas: [{ name: 'nobody', version: 1 }],
        limit: 1,
      });
      const sagas = await Promise.all(ids.map((id) => this.store.load({ id })));
      const rests = sagas.every(
        (saga) => saga && saga.lockedBy === undefined && (waiting.has(saga.id) || !(saga.dueAt! <= now)),
      );
      const seen = JSON.stringify(sagas.map((saga) => [saga?.epoch, saga?.checkpoints]));
      const isSame = rests && seen === before;
      before = seen;
      if (!isSame) await new Promise((resolve) => setTimeout(resolve, 25));
      return isSame;
    });
  }
}
