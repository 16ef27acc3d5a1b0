import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { Gate, until } from '../../../../../test/support/gate.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import { SagaEngine } from '../saga-engine.js';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const ID = '00000000-0000-7000-8000-00000000000';

/** Two engines over one store, whose only saga has two steps. The first step of each saga waits for a gate. */
function scene() {
  const hub = new MemoryWakeupHub();
  const store = new MemorySagaStore({ wakeup: hub.wakeup() });
  const graph = graphOf(stepOf('book'), stepOf('pay', { after: ['book'] }));
  const ran: string[] = [];
  const gates = [new Gate(), new Gate(), new Gate()];
  const newEngine = (name: string, concurrency = 100) => {
    const invoke = async (step: string, context: object) => {
      const n = Number((context as { sagaId: string }).sagaId.at(-1));
      ran.push(`${n} ${step} ${name}`);
      if (step === 'book') await gates[n]!.opened;
    };
    return new SagaEngine(
      store,
      hub.wakeup(),
      [{ graph, invoke }],
      { latest: () => graph, checked: async (_, input) => input },
      {
        ...{ workerId: name, lease: 30_000, maxPayloadBytes: 2 ** 20 },
        worker: { concurrency, ahead: 10, shutdownTimeout: 50, maxTakeovers: 3 },
      },
      SILENT,
    );
  };
  const engineOf = async (...given: Parameters<typeof newEngine>) => {
    const engine = newEngine(...given);
    await engine.start();
    return engine;
  };
  const start = (engine: SagaEngine, n: number) =>
    engine.submit({ id: `${ID}${n}`, fresh: true, name: 'test', version: 1, priority: 0, step: 'book' });
  const statusOf = async (n: number) => (await store.load({ id: `${ID}${n}` }))!.state.status;
  return { ran, gates, newEngine, engineOf, start, statusOf, store };
}

describe('a worker that retires', () => {
  test('ends each attempt in its own time, and another worker goes on with the saga at once', async () => {
    const { ran, gates, engineOf, start, statusOf } = scene();
    const old = await engineOf('old');
    await start(old, 0);
    await start(old, 1);
    await until(() => ran.length === 2);
    const next = await engineOf('next');
    let isRetired = false;
    const retired = old.retire().then(() => (isRetired = true));
    await start(old, 2);
    gates[2]!.open();
    await until(async () => (await statusOf(2)) === 'completed');
    gates[1]!.open();
    await until(async () => (await statusOf(1)) === 'completed');
    expect(isRetired).toBe(false);
    gates[0]!.open();
    await retired;
    await until(async () => (await statusOf(0)) === 'completed');
    expect(ran).toEqual([
      ...['0 book old', '1 book old', '2 book next', '2 pay next'],
      ...['1 pay next', '0 pay next'],
    ]);
    await Promise.all([old.stop(), next.stop()]);
  });

  test('gives what waits for a slot to the other worker', async () => {
    const { ran, gates, engineOf, start, statusOf } = scene();
    const old = await engineOf('old', 1);
    await start(old, 0);
    await start(old, 1);
    gates[1]!.open();
    const next = await engineOf('next');
    const retired = old.retire();
    await until(async () => (await statusOf(1)) === 'completed');
    expect(ran).toEqual(['0 book old', '1 book next', '1 pay next']);
    gates[0]!.open();
    await retired;
    await Promise.all([old.stop(), next.stop()]);
  });

  test('is stopped meanwhile by drain, which aborts what does not end within its time', async () => {
    const { ran, gates, engineOf, start } = scene();
    const old = await engineOf('old');
    await start(old, 0);
    await until(() => ran.length === 1);
    const retired = old.retire();
    await old.stop();
    await retired;
    gates[0]!.open();
  });
});

test.each(['stop', 'retire'] as const)(
  'a process that has to %s while it starts ends its start first, and runs nothing',
  async (end) => {
    const { ran, gates, newEngine, engineOf, start, statusOf, store } = scene();
    const [preparing, prepared] = [new Gate(), new Gate()];
    Object.assign(store, {
      prepare: () => {
        preparing.open();
        return prepared.opened;
      },
    });
    const engine = newEngine('stopped');
    const order: string[] = [];
    const started = engine.start().then(() => order.push('started'));
    await preparing.opened;
    await start(engine, 0);
    gates[0]!.open();
    const ended = engine[end]().then(() => order.push('ended'));
    // As far as it comes before the start has ended.
    await new Promise(setImmediate);
    prepared.open();
    await Promise.all([started, ended]);
    expect([ran, order]).toEqual([[], ['started', 'ended']]);
    const next = await engineOf('next');
    await until(async () => (await statusOf(0)) === 'completed');
    expect(ran).toEqual(['0 book next', '0 pay next']);
    await Promise.all([engine.stop(), next.stop()]);
  },
);
