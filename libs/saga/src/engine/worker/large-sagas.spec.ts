import { v7 as uuidv7 } from 'uuid';
import { Gate, until } from '../../../../../test/support/gate.js';
import { buildSagaGraph } from '../../definition/build/build-saga-graph.js';
import type { StepContext } from '../../definition/types/contexts.js';
import { Saga } from '../../definition/decorators/saga.decorator.js';
import { Step } from '../../definition/decorators/step.decorator.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import type { EngineLog } from '../ports/engine-log.js';
import { SagaEngine } from '../saga-engine.js';

const SILENT: EngineLog = { log() {}, warn() {}, error() {}, debug() {} };
const KB = 1_024;

/** A worker that may hold 250 kB of large sagas, and sagas whose only step waits to be let go. */
async function scene(sizes: readonly number[], small = 0) {
  const running = new Map<string, Gate>();
  let most = 0;
  @Saga({ name: 'sized' })
  class Sized {
    @Step() async act({ sagaId }: StepContext) {
      const gate = new Gate();
      running.set(sagaId, gate);
      most = Math.max(most, running.size);
      await gate.opened;
      running.delete(sagaId);
    }
  }
  const hub = new MemoryWakeupHub();
  const store = new MemorySagaStore({ wakeup: hub.wakeup() });
  const instance = new Sized() as unknown as Record<string, (context: object) => unknown>;
  const engine = new SagaEngine(
    store,
    hub.wakeup(),
    [{ graph: buildSagaGraph(Sized), invoke: (name, context) => instance[name]!(context) }],
    { latest: (type) => buildSagaGraph(type), checked: async (_, input) => input },
    {
      workerId: 'worker',
      worker: { concurrency: 100, shutdownTimeout: 1_000, maxTakeovers: 3, maxHeldBytes: 250 * KB },
      lease: 30_000,
      maxPayloadBytes: 2 ** 30,
    },
    SILENT,
  );
  const start = async (size: number) => {
    const id = uuidv7();
    const input = JSON.stringify('x'.repeat(size));
    const saga = { id, fresh: true, name: 'sized', version: 1, priority: 0, step: 'act', input };
    await store.start([{ ...saga, leased: false }], { worker: 'nobody', duration: 1 });
    return id;
  };
  const large: string[] = [];
  for (const size of sizes) large.push(await start(size));
  const smallOnes: string[] = [];
  for (let n = 0; n < small; n += 1) smallOnes.push(await start(10));
  await engine.start();
  const runningAmong = (ids: readonly string[]) => ids.filter((id) => running.has(id));
  return {
    engine,
    large,
    smallOnes,
    runningAmong,
    letGo: (id: string) => running.get(id)!.open(),
    most: () => most,
  };
}

describe('a worker', () => {
  test('runs large sagas side by side only as far as there is room for their bytes, in their order', async () => {
    const { engine, large, runningAmong, letGo, most } = await scene(Array<number>(6).fill(100 * KB));
    for (let n = 0; n < large.length; n += 1) {
      await until(() => runningAmong(large).length === Math.min(2, large.length - n));
      expect(runningAmong(large)).toEqual(large.slice(n, n + 2));
      letGo(large[n]!);
      await engine.waiters.wait(large[n]!);
    }
    expect(most()).toBe(2);
    await engine.stop();
  });

  test('runs small sagas beside large ones, however many of those wait', async () => {
    const { engine, large, smallOnes, runningAmong, letGo } = await scene(
      Array<number>(60).fill(100 * KB),
      60,
    );
    await until(() => runningAmong(smallOnes).length === smallOnes.length);
    expect(runningAmong(large)).toEqual(large.slice(0, 2));
    for (const id of smallOnes) letGo(id);
    for (const id of smallOnes) await engine.waiters.wait(id);
    expect(runningAmong(large)).toEqual(large.slice(0, 2));
    for (const id of large) {
      await until(() => runningAmong(large).includes(id));
      letGo(id);
    }
    await engine.stop();
  });

  test('runs one that is larger than its room, with no other large one beside it', async () => {
    const { engine, large, runningAmong, letGo, most } = await scene([100 * KB, 900 * KB, 100 * KB]);
    for (const id of large) {
      await until(() => runningAmong(large).includes(id));
      expect(runningAmong(large)).toEqual([id]);
      letGo(id);
      await engine.waiters.wait(id);
    }
    expect(most()).toBe(1);
    await engine.stop();
  });
});
