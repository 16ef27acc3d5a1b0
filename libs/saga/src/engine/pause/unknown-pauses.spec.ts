import { v7 as uuidv7 } from 'uuid';
import { sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { log } from '../../../../../test/fixtures/run-of.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import { SagaEngine } from '../saga-engine.js';

test('a process that cannot read the pauses yet claims nothing, starts nothing with a lease, and runs all once it can', async () => {
  const hub = new MemoryWakeupHub();
  const store = new MemorySagaStore({ wakeup: hub.wakeup() });
  const graph = { ...sequenceOf(stepOf('charge'), stepOf('ship')), name: 'order', version: 1 };
  const ran: string[] = [];
  let fails = true;
  const all = store.pauses.all.bind(store.pauses);
  store.pauses.all = async (resumed) => {
    if (fails) throw new Error('the database is busy');
    return all(resumed);
  };
  const definitions = { latest: () => graph, checked: async (_: unknown, input: unknown) => input };
  const invoke = (method: string) => void ran.push(method);
  const engine = new SagaEngine(
    ...([store, hub.wakeup(), [{ graph, invoke }], definitions] as const),
    {
      ...{ workerId: 'me', lease: 30_000, maxPayloadBytes: 1_000 },
      worker: { shutdownTimeout: 100, maxTakeovers: 5 },
    },
    log,
  );
  await engine.start();
  const start = { fresh: true, name: 'order', version: 1, priority: 0, step: 'charge' };
  const id = uuidv7();
  await engine.submit({ ...start, id });
  for (let n = 0; n < 20; n += 1) await new Promise(setImmediate);
  expect(ran).toEqual([]);
  fails = false;
  engine.tick();
  for (let n = 0; n < 5; n += 1) engine.tick();
  expect((await engine.waiters.wait(id)).state.status).toBe('completed');
  expect(ran).toEqual(['charge', 'ship']);
  await engine.stop();
});
