import { v7 as uuidv7 } from 'uuid';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import { SagaEngine } from '../saga-engine.js';

const graph = graphOf(stepOf('book'));
const log = { debug() {}, log() {}, warn() {}, error() {} };
const store = new MemorySagaStore();

/** A wake-up that listens, and to which nothing arrives that others announce. */
function deaf(worker?: { concurrency: number; shutdownTimeout: number; maxTakeovers: number }): SagaEngine {
  return new SagaEngine(
    store,
    new MemoryWakeupHub().wakeup(),
    worker ? [{ graph, invoke: () => 'booked' }] : [],
    { latest: () => graph, checked: async (_, input) => input },
    { workerId: worker ? 'worker' : 'web', worker, lease: 30_000, maxPayloadBytes: 2 ** 20 },
    log,
  );
}

test('a process that receives no notification finds due and ended sagas by polling', async () => {
  const engines = [deaf({ concurrency: 5, shutdownTimeout: 100, maxTakeovers: 3 }), deaf()] as const;
  const [, web] = engines;
  for (const engine of engines) await engine.start();
  const order = { id: uuidv7(), fresh: true, name: 'test', version: 1, priority: 0, step: 'book' };
  await web.submit(order);
  const outcome = web.waiters.wait(order.id, 10_000);
  const ticking = setInterval(() => engines.forEach((engine) => engine.tick()), 5);
  try {
    expect((await outcome).state.status).toBe('completed');
  } finally {
    clearInterval(ticking);
    for (const engine of engines) await engine.stop();
  }
});
