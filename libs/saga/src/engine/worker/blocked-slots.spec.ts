import { v7 as uuidv7 } from 'uuid';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { Gate, pause, until } from '../../../../../test/support/gate.js';
import { systemClock } from '../../shared/clock.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import { SagaEngine } from '../saga-engine.js';
import type { WorkerOptions } from './worker-ports.js';

const DEFINITIONS = {
  latest: () => graphOf(stepOf('call')),
  checked: async (_: unknown, input: unknown) => input,
};
const LONG = 10_000;

interface Calls {
  readonly sagaId: string;
  heartbeat(): Promise<void>;
}

/** Workers of sagas of one step: that of `outer` starts an `inner` and awaits its outcome. Others last until they are let go. */
function scene() {
  const hub = new MemoryWakeupHub();
  const store = new MemorySagaStore({ wakeup: hub.wakeup() });
  const time = { passed: 0 };
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + time.passed };
  const engines: SagaEngine[] = [];
  const warnings: string[] = [];
  const log = { debug() {}, log() {}, warn: (line: string) => void warnings.push(line), error() {} };
  const began: string[] = [];
  /** Opened once all slots are taken. */
  let full = new Gate();
  let end = new Gate();
  let beat: (() => Promise<void>) | undefined;
  const newSaga = (name: string) => ({
    ...{ id: uuidv7(), fresh: true, name, version: 1, priority: 0, step: 'call' },
  });

  async function worker(options: Partial<WorkerOptions> = {}) {
    const start = async (name: string) => {
      const saga = newSaga(name);
      await engine.submit(saga);
      return saga.id;
    };
    const methods: Record<string, (ctx: Calls) => Promise<unknown>> = {
      outer: async () => {
        await full.opened;
        const outcome = engine.waiters.wait(await start('inner'));
        outcome.catch(() => undefined);
        await Promise.race([outcome, end.opened]);
      },
      inner: async () => undefined,
      slow: () => end.opened,
      beating: async (ctx) => {
        beat = () => ctx.heartbeat();
        await end.opened;
      },
    };
    const sagas = Object.entries(methods).map(([name, method]) => ({
      graph: { ...graphOf(stepOf('call')), name },
      invoke: (_: string, ctx: object) => {
        began.push(name);
        return method(ctx as Calls);
      },
    }));
    const engine = new SagaEngine(
      store,
      hub.wakeup(),
      sagas,
      DEFINITIONS,
      {
        ...{ workerId: `w${engines.length}`, lease: 3_600_000, maxPayloadBytes: 2 ** 20, clock },
        worker: { concurrency: 2, shutdownTimeout: 1, maxTakeovers: 3, ...options },
      },
      log,
    );
    engines.push(engine);
    await engine.start();
    return { engine, start };
  }

  return {
    ...{ worker, store, warnings, began },
    /** Starts sagas that fill all slots. */
    async fill(start: (name: string) => Promise<string>, ...names: string[]) {
      const count = began.length + names.length;
      const ids = [];
      for (const name of names) ids.push(await start(name));
      await until(() => began.length === count);
      full.open();
      return ids;
    },
    /** Ends what is in progress. */
    async letGo(engine: SagaEngine) {
      end.open();
      await until(async () => (await engine.stats()).sagas.length === 0);
      [full, end] = [new Gate(), new Gate()];
    },
    heartbeat: () => beat!(),
    /** Time passes, and the engine looks. */
    async pass(engine: SagaEngine, ms: number) {
      time.passed += ms;
      for (let n = 0; n < 5; n += 1) {
        engine.tick();
        await pause(2);
      }
    },
    async end() {
      full.open();
      end.open();
      await Promise.all(engines.map((engine) => engine.stop()));
    },
  };
}

let given: ReturnType<typeof scene>;
beforeEach(() => void (given = scene()));
afterEach(() => given.end());

describe('steps that await the outcomes of sagas which find no slot', () => {
  const WARNING =
    'All slots of this worker (2) have been taken for 10 s without progress, and sagas whose outcome is awaited in this process ' +
    'find no slot. In progress: outer.call (2). A step that awaits outcome() or wait() keeps its slot, so that the ' +
    'awaited saga may never start. Start it with @SubSaga(), which waits without a slot, or set a higher worker.concurrency.';

  test.each([
    ['in the database', 0],
    ['in the queue of the worker', 5],
  ])('are named in one warning with the fix, if those wait %s', async (_, ahead) => {
    const { worker, fill, pass, began, warnings } = given;
    const { engine, start } = await worker({ ahead });
    await fill(start, 'outer', 'outer');
    await pass(engine, LONG - 2_000);
    expect(warnings).toEqual([]);
    await pass(engine, 2_000);
    expect(warnings).toEqual([WARNING]);
    for (let n = 0; n < 5; n += 1) await pass(engine, LONG);
    expect(warnings).toEqual([WARNING]);
    expect(began).toEqual(['outer', 'outer']);
  });

  test('are named again once they have all ended, and others are in their place', async () => {
    const { worker, fill, pass, warnings, letGo } = given;
    const { engine, start } = await worker();
    for (let episode = 1; episode <= 2; episode += 1) {
      await fill(start, 'outer', 'outer');
      for (let n = 0; n < 3; n += 1) await pass(engine, LONG);
      expect(warnings).toEqual(Array(episode).fill(WARNING));
      await letGo(engine);
    }
  });

  test('are named with the other steps in progress, except those whose heartbeats arrive', async () => {
    const { worker, fill, pass, warnings, heartbeat } = given;
    const { engine, start } = await worker({ concurrency: 4 });
    await fill(start, 'outer', 'outer', 'slow', 'beating');
    await pass(engine, LONG / 2);
    await heartbeat();
    await pass(engine, LONG / 2 + 1_000);
    expect(warnings).toEqual([
      WARNING.replace('(2)', '(4)').replace('outer.call (2)', 'outer.call (2), slow.call'),
    ]);
  });
});

describe('nothing is logged', () => {
  test('while a slot is free', async () => {
    const { worker, fill, pass, warnings } = given;
    const { engine, start } = await worker({ concurrency: 3 });
    await fill(start, 'slow', 'slow');
    void engine.waiters.wait('unknown').catch(() => undefined);
    for (let n = 0; n < 3; n += 1) await pass(engine, LONG);
    expect(warnings).toEqual([]);
  });

  test.each(['none', 'one that runs', 'one that is not due'])(
    'of slow steps that fill all slots, if the outcome of %s is awaited',
    async (awaited) => {
      const { worker, fill, pass, warnings, store } = given;
      const { engine, start } = await worker();
      const [running] = await fill(start, 'slow', 'slow');
      const waiting = await start('inner');
      if (awaited === 'one that is not due')
        await store.edit({ id: waiting }, (saga) => ({ state: saga.state, due: false, step: '' }));
      const id = { none: undefined, 'one that runs': running, 'one that is not due': waiting }[awaited];
      if (id !== undefined) void engine.waiters.wait(id).catch(() => undefined);
      for (let n = 0; n < 3; n += 1) await pass(engine, LONG);
      expect(warnings).toEqual([]);
    },
  );

  test('while all steps in progress send heartbeats', async () => {
    const { worker, fill, pass, warnings, heartbeat } = given;
    const { engine, start } = await worker({ concurrency: 1 });
    await fill(start, 'beating');
    void engine.waiters.wait(await start('inner')).catch(() => undefined);
    for (let n = 0; n < 5; n += 1) {
      await pass(engine, LONG / 2);
      await heartbeat();
    }
    expect(warnings).toEqual([]);
  });
});
