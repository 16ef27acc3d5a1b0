import type { EntityManager } from 'typeorm';
import type { Type } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { buildSagaGraph } from '../definition/build/build-saga-graph.js';
import type { CompensationContext, StepContext } from '../definition/types/contexts.js';
import { Saga } from '../definition/decorators/saga.decorator.js';
import { Step } from '../definition/decorators/step.decorator.js';
import { StepRejectedError } from '../errors.js';
import { MemorySagaStore } from '../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../store/memory/memory-wakeup.js';
import { UnstorableError } from '../store/memory/stored-copy.js';
import type { EngineLog } from './ports/engine-log.js';
import type { EngineOptions } from './engine-options.js';
import { SagaEngine } from './saga-engine.js';
import type { StepTransaction } from './ports/saga-store.js';
import type { Checkpoint, CheckpointResult } from './ports/checkpoint.js';
import type { NewSaga } from './ports/stored-saga.js';

const SILENT: EngineLog = { log() {}, warn() {}, error() {}, debug() {} };
const lostConnection = () => Object.assign(new Error('Connection terminated'), { transient: true });

/** A store whose answers can be lost, and that can refuse what it is given. */
class UnreliableStore extends MemorySagaStore {
  /** Statements that are carried out, and whose answer is lost, still to come. */
  lose = { start: 0, checkpoint: 0, transact: 0, claim: 0 };
  refuse: (checkpoint: Checkpoint) => boolean = () => false;
  /** Starts take effect, and are answered once this is. */
  slow: Promise<void> | undefined;
  transactions = 0;

  override isTransient(error: unknown): boolean {
    return (error as { transient?: boolean }).transient === true;
  }

  override async start(...given: Parameters<MemorySagaStore['start']>) {
    const results = await super.start(...given);
    await this.slow;
    return this.answer('start', results);
  }

  override async claim(...given: Parameters<MemorySagaStore['claim']>) {
    return this.answer('claim', await super.claim(...given));
  }

  override async checkpoint(checkpoints: readonly Checkpoint[]): Promise<CheckpointResult[]> {
    await new Promise(setImmediate);
    if (checkpoints.some(this.refuse)) throw new UnstorableError('invalid input syntax for type json');
    return this.answer('checkpoint', await super.checkpoint(checkpoints));
  }

  override async transact(work: (transaction: StepTransaction) => Promise<Checkpoint>) {
    this.transactions += 1;
    return this.answer('transact', await super.transact(work));
  }

  private answer<T>(call: keyof UnreliableStore['lose'], value: T): T {
    if (this.lose[call] === 0) return value;
    this.lose[call] -= 1;
    throw lostConnection();
  }
}

interface Scene {
  readonly store: UnreliableStore;
  engine(sagas: Type[], options?: Partial<EngineOptions>): Promise<SagaEngine>;
}

let engines: SagaEngine[] = [];
afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.stop()));
  engines = [];
});

function scene(now?: () => number): Scene {
  const hub = new MemoryWakeupHub();
  const store = new UnreliableStore({ wakeup: hub.wakeup(), manager: {} as EntityManager, now });
  return {
    store,
    engine: async (sagas, options = {}) => {
      const runnable = sagas.map((type) => {
        const instance = new type() as Record<string, (context: object) => unknown>;
        return {
          graph: buildSagaGraph(type),
          invoke: (name: string, context: object) => instance[name]!(context),
        };
      });
      const engine = new SagaEngine(
        store,
        hub.wakeup(),
        runnable,
        {
          latest: (type) => buildSagaGraph(type),
          checked: async (_, input) => input,
        },
        {
          workerId: `worker-${engines.length + 1}`,
          worker: { concurrency: 10, shutdownTimeout: 30_000, maxTakeovers: 3 },
          lease: 30_000,
          maxPayloadBytes: 2 ** 20,
          ...options,
        },
        SILENT,
      );
      engines.push(engine);
      await engine.start();
      return engine;
    },
  };
}

const newOrder = (given: Partial<NewSaga> = {}) => ({
  ...{ id: uuidv7(), fresh: true, name: 'order', version: 1, priority: 0, step: 'book' },
  ...given,
});

test('an engine takes dates by the clock of the database from its first call on, also if it runs no sagas', async () => {
  const ahead = 3_600_000;
  const { engine } = scene(() => Date.now() + ahead);
  const client = await engine([], { worker: undefined });
  expect(Math.abs(client.now() - Date.now() - ahead)).toBeLessThan(60_000);
});

test('a saga that is started after the clock of the database was set back by an hour does not time out', async () => {
  @Saga({ name: 'order', timeout: '30m' })
  class Order {
    @Step() book() {}
  }
  let ahead = 3_600_000;
  const { engine } = scene(() => Date.now() + ahead);
  const running = await engine([Order]);
  ahead = 0;
  const saga = newOrder({ timeout: 1_800_000 });
  await running.submit(saga);
  expect((await running.waiters.wait(saga.id)).state.status).toBe('completed');
  expect(Math.abs(running.now() - Date.now())).toBeLessThan(60_000);
});

test('sagas that were due when the clock of the database was set back by an hour run with the next poll', async () => {
  @Saga({ name: 'order' })
  class Order {
    @Step() book() {}
  }
  let ahead = 3_600_000;
  const { store, engine } = scene(() => Date.now() + ahead);
  const running = await engine([Order]);
  const saga = newOrder();
  // It is not announced.
  await store.start([{ ...saga, leased: false }], { worker: 'another', duration: 30_000 });
  ahead = 0;
  for (let n = 0; n < 5; n += 1) running.tick();
  expect((await running.waiters.wait(saga.id)).state.status).toBe('completed');
});

test('an engine runs sagas although the database could not be prepared for the first one', async () => {
  @Saga({ name: 'order' })
  class Order {
    @Step() book() {}
  }
  const { store, engine } = scene();
  let tries = 0;
  const prepare = async () => {
    tries += 1;
    throw lostConnection();
  };
  Object.assign(store, { prepare });
  const running = await engine([Order]);
  expect(tries).toBe(1);
  const order = newOrder();
  await running.submit(order);
  expect((await running.waiters.wait(order.id)).state.status).toBe('completed');
});

describe('an answer of the database that is lost', () => {
  test('of a transactional step’s commit is asked for: what was committed is not run again', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order', retry: { attempts: 1 }, compensationRetry: { attempts: 1 } })
    class Order {
      @Step({ transactional: true, compensate: 'unbook' }) book() {
        ran.push('book');
        return 'booked';
      }
      unbook({ result }: CompensationContext<unknown, string>) {
        ran.push(`unbook ${result}`);
      }
      @Step() refuse() {
        throw new StepRejectedError('no');
      }
    }
    const { store, engine } = scene();
    store.lose.transact = 1;
    const running = await engine([Order]);
    const order = newOrder();
    await running.submit(order);
    expect((await running.waiters.wait(order.id)).state.status).toBe('compensated');
    expect(ran).toEqual(['book', 'unbook booked']);
    store.lose.transact = 2;
    const second = newOrder();
    await running.submit(second);
    await running.waiters.wait(second.id);
    expect(ran.slice(2)).toEqual(['book', 'unbook booked']);
  });

  test('of a start leaves one saga, which runs', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() book() {
        ran.push('book');
      }
    }
    const { store, engine } = scene();
    const running = await engine([Order]);
    for (const correlationId of [undefined, 'order-1']) {
      store.lose.start = 2;
      const order = newOrder({ correlationId });
      expect(await running.submit(order)).toMatchObject({ created: true });
      expect((await running.waiters.wait(order.id)).state.status).toBe('completed');
    }
    expect(ran).toEqual(['book', 'book']);
  });

  test('of a checkpoint leaves one result', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() book() {
        ran.push('book');
      }
      @Step() ship() {
        ran.push('ship');
      }
    }
    const { store, engine } = scene();
    store.lose.checkpoint = 3;
    const running = await engine([Order]);
    const order = newOrder();
    await running.submit(order);
    expect((await running.waiters.wait(order.id)).state.status).toBe('completed');
    expect(ran).toEqual(['book', 'ship']);
  });
});

describe('a result that the database refuses', () => {
  test('fails its step, which did happen: it is undone without a result', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'unbook' }) book() {
        return 'indigestible';
      }
      unbook({ result, failure }: CompensationContext<unknown, string>) {
        ran.push(`unbook ${String(result)} ${failure.error?.message}`);
      }
    }
    const { store, engine } = scene();
    store.refuse = ({ state }) => [...state.steps.values()].some(({ result }) => result === '"indigestible"');
    const running = await engine([Order]);
    const order = newOrder();
    await running.submit(order);
    const { state } = await running.waiters.wait(order.id);
    expect(state).toMatchObject({ status: 'compensated', failure: { kind: 'error', step: 'book' } });
    expect(ran).toEqual(['unbook undefined invalid input syntax for type json']);
  });

  test('fails no other saga of the same batch', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() book({ input }: StepContext<string>) {
        return input;
      }
    }
    const { store, engine } = scene();
    store.refuse = ({ state }) => [...state.steps.values()].some(({ result }) => result === '"bad"');
    const running = await engine([Order]);
    const orders = ['good', 'bad', 'good', 'good'].map((input) => newOrder({ input: JSON.stringify(input) }));
    await Promise.all(orders.map((order) => running.submit(order)));
    const settled = await Promise.all(orders.map(({ id }) => running.waiters.wait(id)));
    expect(settled.map(({ state }) => state.status)).toEqual([
      'completed',
      'compensated',
      'completed',
      'completed',
    ]);
  });
});

describe('engines that share a store', () => {
  test('run each saga once, and receive outcomes of sagas that run elsewhere', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() book({ sagaId }: StepContext) {
        ran.push(sagaId);
      }
    }
    const { engine } = scene();
    const [one, two] = [await engine([Order]), await engine([Order])];
    const web = await engine([], { worker: undefined });
    const orders = Array.from({ length: 60 }, () => newOrder());
    await Promise.all(orders.map((order, n) => [one, two, web][n % 3]!.submit(order)));
    await Promise.all(orders.map(({ id }) => web.waiters.wait(id)));
    expect([...ran].sort()).toEqual(orders.map(({ id }) => id).sort());
  });

  test('give back at a stop what others then go on with', async () => {
    const ran: string[] = [];
    let began!: () => void;
    const stepStarted = new Promise<void>((resolve) => (began = resolve));
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    @Saga({ name: 'order' })
    class Order {
      @Step() async book() {
        began();
        await finished;
        ran.push('book');
      }
      @Step() ship() {
        ran.push('ship');
      }
    }
    const { engine, store } = scene();
    const one = await engine([Order]);
    const order = newOrder();
    await one.submit(order);
    await stepStarted;
    const two = await engine([Order]);
    const stopping = one.stop();
    finish();
    await stopping;
    expect((await two.waiters.wait(order.id)).state.status).toBe('completed');
    expect(ran).toEqual(['book', 'ship']);
    expect(await store.load({ id: order.id })).toMatchObject({ epoch: 2, takeovers: 0 });
  });

  test('give back at a stop also what was being started at that moment', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() book() {}
    }
    const { engine, store } = scene();
    const one = await engine([Order]);
    let answer!: () => void;
    store.slow = new Promise<void>((resolve) => (answer = resolve));
    const order = newOrder();
    const submitted = one.submit(order);
    await new Promise(setImmediate);
    expect(await store.load({ id: order.id })).toMatchObject({ lockedBy: 'worker-1' });
    const stopping = one.stop();
    await new Promise(setImmediate);
    answer();
    await stopping;
    expect((await store.load({ id: order.id }))?.lockedBy).toBeUndefined();
    expect(await submitted).toMatchObject({ created: true });
  });
});
