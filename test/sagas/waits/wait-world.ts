import { Module, type Type } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { SagaService } from '../../../libs/saga/src/index.js';
import { systemClock } from '../../../libs/saga/src/shared/clock.js';
import { newId } from '../../../libs/saga/src/shared/new-id.js';
import type { Lease, StoredSaga } from '../../../libs/saga/src/engine/ports/stored-saga.js';
import type { RunnableSaga } from '../../../libs/saga/src/engine/ports/invoker.js';
import type { SagaStore } from '../../../libs/saga/src/engine/ports/saga-store.js';
import { assembleEngine, type ServiceParts } from '../../../libs/saga/src/nest/assemble-engine.js';
import type { SagaRegistry } from '../../../libs/saga/src/nest/discovery/saga.registry.js';
import { SagaExplorer } from '../../../libs/saga/src/nest/discovery/saga.explorer.js';
import {
  findUnexplained,
  type UnexplainedSaga,
} from '../../../libs/saga/src/nest/maintenance/find-unexplained.js';
import { withDefaults } from '../../../libs/saga/src/nest/saga.options.js';
import { MemoryWakeupHub } from '../../../libs/saga/src/store/memory/memory-wakeup.js';
import type { StoreSubject } from '../../../libs/saga/src/store/contract/store-subject.contract.js';
import { anyShard } from '../../../libs/saga/src/testing/any-shard.js';
import { until } from '../../support/gate.js';

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

/** One process after the other that runs sagas, over a store whose time passes on request. */
export class WaitWorld {
  readonly service = new SagaService({ ready: async () => this.parts });
  private parts!: ServiceParts;
  private processes = 0;
  private stop: () => Promise<void> = async () => {};

  constructor(
    readonly subject: StoreSubject,
    readonly registry: SagaRegistry,
  ) {}

  get store(): SagaStore {
    return this.subject.store;
  }

  async begin(): Promise<void> {
    const { registry, subject } = this;
    const engine = assembleEngine({
      ...{ store: subject.store, wakeup: new MemoryWakeupHub().wakeup(), graphs: subject.graphs },
      ...{ sagas: [...registry.all, ...registry.all.map(nextVersion)], log: SILENT },
      definitions: {
        awaitedSignals: registry.awaitedSignals,
        latest: (type) => registry.latest(type),
        checked: (graph, input) => registry.checked(graph, input),
      },
      options: {
        ...{ ...OPTIONS, schedules: false, watchInterval: Infinity },
        worker: { ...OPTIONS.worker!, longestWait: 20 },
        ...{ workerId: `process-${(this.processes += 1)}`, lease: 600_000, clock: systemClock },
        ...{ random: () => 0, newId },
      },
    });
    const { graphs } = subject;
    const noCleanup = { cleanup: () => Promise.reject(new Error('not here')) };
    this.parts = { engine, registry, options: OPTIONS, graphs, cleanup: noCleanup, shards: anyShard(engine) };
    await engine.start();
    const poll = setInterval(() => engine.tick(), 20);
    this.stop = async () => {
      clearInterval(poll);
      await engine.stop();
    };
  }

  end(): Promise<void> {
    return this.stop();
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
      const sagas = await Promise.all(ids.map((id) => this.load(id)));
      const rests = sagas.every(
        ({ id, lockedBy, dueAt }) => lockedBy === undefined && (waiting.has(id) || !(dueAt! <= now)),
      );
      const seen = JSON.stringify(sagas.map(({ epoch, checkpoints }) => [epoch, checkpoints]));
      const isSame = rests && seen === before;
      before = seen;
      if (!isSame) await new Promise((resolve) => setTimeout(resolve, 25));
      return isSame;
    });
  }
}
