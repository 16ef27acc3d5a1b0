import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import type { SagaStore } from '../ports/saga-store.js';
import { newId } from '../../shared/new-id.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import { SagaEngine } from '../saga-engine.js';

const log = { debug() {}, log() {}, warn() {}, error() {} };
const graph = graphOf(stepOf('charge'));

class ConnectionLost extends Error {}

/** Processes over one database. */
class Scene {
  readonly hub = new MemoryWakeupHub();
  readonly calls: string[] = [];
  memory = new MemorySagaStore({ wakeup: this.hub.wakeup() });
  /** Once, instead of the answer to a start. */
  beforeAnswerIsLost: (() => Promise<void>) | undefined;
  private lastFailoverAt = -Infinity;
  private readonly engines: SagaEngine[] = [];

  /** A standby is promoted that has nothing. */
  failOver(): void {
    this.memory = new MemorySagaStore({ wakeup: this.hub.wakeup() });
    this.lastFailoverAt = performance.now();
  }

  private readonly store = new Proxy({} as SagaStore, {
    get: (_, name: keyof MemorySagaStore & keyof SagaStore) => {
      if (name === 'lastFailoverAt') return this.lastFailoverAt;
      if (name === 'isOutage' || name === 'isTransient')
        return (error: unknown) => error instanceof ConnectionLost;
      if (name === 'start') return (...given: Parameters<MemorySagaStore['start']>) => this.start(...given);
      const member: unknown = this.memory[name];
      return typeof member === 'function' ? (member.bind(this.memory) as unknown) : member;
    },
  });

  private async start(...given: Parameters<MemorySagaStore['start']>) {
    const results = await this.memory.start(...given);
    const meanwhile = this.beforeAnswerIsLost;
    this.beforeAnswerIsLost = undefined;
    if (!meanwhile) return results;
    await meanwhile();
    throw new ConnectionLost();
  }

  async engine(isWorker: boolean): Promise<SagaEngine> {
    const invoke = async (_: string, context: unknown) =>
      void this.calls.push((context as { sagaId: string }).sagaId);
    const engine = new SagaEngine(
      this.store,
      this.hub.wakeup(),
      isWorker ? [{ graph, invoke }] : [],
      { latest: () => graph, checked: async (_, input) => input },
      {
        ...{ workerId: isWorker ? 'worker' : 'starter', lease: 30_000, maxPayloadBytes: 1_000 },
        worker: isWorker ? { concurrency: 1, shutdownTimeout: 500, maxTakeovers: 3 } : undefined,
        recovery: { window: 60_000, bytes: 1e9 },
      },
      log,
    );
    this.engines.push(engine);
    await engine.start();
    return engine;
  }

  stop(): Promise<unknown> {
    return Promise.all(this.engines.map((engine) => engine.stop()));
  }
}

let scene: Scene;
beforeEach(() => (scene = new Scene()));
afterEach(() => scene.stop());

const newSaga = () => ({ id: newId(), fresh: true, name: 'test', version: 1, priority: 0, step: 'charge' });

test('a start whose answer was lost is not repeated once its saga has ended and was deleted', async () => {
  const [starter, worker] = [await scene.engine(false), await scene.engine(true)];
  const saga = newSaga();
  scene.beforeAnswerIsLost = async () => {
    worker.announceDue();
    await worker.waiters.wait(saga.id);
    await scene.memory.cleanup.batch({ name: 'test', age: 0, most: 1, dryRun: false, alone: false });
  };
  expect(await starter.submit(saga)).toMatchObject({ created: true, leased: false });
  expect(await scene.memory.load({ id: saga.id })).toBeUndefined();
  expect(scene.calls).toEqual([saga.id]);
});

test.each([
  ['of which this process knows the end', true],
  ['which the same failover has lost', false],
])('a saga %s is started again after a failover: %p', async (_, isTold) => {
  const starter = await scene.engine(false);
  const saga = newSaga();
  await starter.submit(saga);
  const worker = await scene.engine(true);
  if (isTold) await starter.waiters.wait(saga.id);
  else await worker.waiters.wait(saga.id);
  await worker.stop();
  scene.failOver();
  await starter.submit(newSaga());
  expect((await scene.memory.load({ id: saga.id })) === undefined).toBe(isTold);
});
