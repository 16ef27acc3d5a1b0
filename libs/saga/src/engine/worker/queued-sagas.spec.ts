import { v7 as uuidv7 } from 'uuid';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { Gate, pause, until } from '../../../../../test/support/gate.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import { cancelEdit } from '../operate/operator-edits.js';
import { SagaEngine } from '../saga-engine.js';
import type { WorkerOptions } from './worker-ports.js';

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const SHORT_LEASE = 200;

interface Given extends Partial<WorkerOptions> {
  /** The `limit` of the saga. */
  readonly limit?: number;
  /** Milliseconds. */
  readonly lease?: number;
}

/** Workers whose only saga waits in its only step to be let go. By default with one slot, and with a queue. */
function scene() {
  const hub = new MemoryWakeupHub();
  const store = new MemorySagaStore({ wakeup: hub.wakeup() });
  const began: string[] = [];
  const gates = new Map<string, Gate>();
  const gateOf = (id: string) => gates.get(id) ?? gates.set(id, new Gate()).get(id)!;
  const engines: SagaEngine[] = [];

  async function worker(name: string, { limit, lease = 30_000, ...options }: Given = {}) {
    const graph = { ...graphOf(stepOf('book')), limit: limit === undefined ? undefined : { count: limit } };
    const invoke = async (_: string, context: object) => {
      const { sagaId } = context as { sagaId: string };
      began.push(`${sagaId} ${name}`);
      await gateOf(sagaId).opened;
    };
    const engine = new SagaEngine(
      store,
      hub.wakeup(),
      [{ graph, invoke }],
      { latest: () => graph, checked: async (_, input) => input },
      {
        ...{ workerId: name, lease, maxPayloadBytes: 2 ** 20 },
        worker: { concurrency: 1, ahead: 10, shutdownTimeout: 1_000, maxTakeovers: 3, ...options },
      },
      SILENT,
    );
    engines.push(engine);
    await engine.start();
    return engine;
  }

  const newSaga = (priority = 0) => ({
    ...{ id: uuidv7(), fresh: true, name: 'test', version: 1, priority, step: 'book' },
  });
  return {
    ...{ hub, store, began, worker },
    /** Starts a saga by this engine. */
    async start(engine: SagaEngine, priority?: number) {
      const saga = newSaga(priority);
      await engine.submit(saga);
      return saga.id;
    },
    /** Stores one that no worker has. */
    async store1() {
      const saga = newSaga();
      await store.start([{ ...saga, leased: false }], { worker: 'nobody', duration: 1 });
      return saga.id;
    },
    holderOf: async (id: string) => (await store.load({ id }))!.lockedBy,
    letGo: (...ids: string[]) => ids.forEach((id) => gateOf(id).open()),
    async end() {
      for (const gate of gates.values()) gate.open();
      await Promise.all(engines.map((engine) => engine.stop()));
    },
  };
}

let given: ReturnType<typeof scene>;
beforeEach(() => void (given = scene()));
afterEach(() => given.end());

describe('sagas that find no slot', () => {
  test('keep their lease, and start in their order as soon as one is free, the highest priority first', async () => {
    const { worker, start, began, holderOf, letGo } = given;
    const here = await worker('here');
    const first = await start(here);
    const [second, third, urgent] = [await start(here), await start(here), await start(here, 10)];
    for (const id of [second, third, urgent]) expect(await holderOf(id)).toBe('here');
    expect(began).toEqual([`${first} here`]);
    const order = [first, urgent, second, third];
    for (const id of order) {
      letGo(id);
      expect((await here.waiters.wait(id)).state.status).toBe('completed');
    }
    expect(began).toEqual(order.map((id) => `${id} here`));
  });

  test('are left to the others if too many wait already', async () => {
    const { worker, start, holderOf } = given;
    const here = await worker('here', { ahead: 1 });
    await start(here);
    expect(await holderOf(await start(here))).toBe('here');
    expect(await holderOf(await start(here))).toBeUndefined();
  });

  test('are left to the others if a saga of the worker has a limit', async () => {
    const { worker, start, store1, holderOf, began } = given;
    const here = await worker('here', { limit: 5 });
    const ids = [await start(here), await start(here), await store1()];
    await until(() => began.length === 1);
    await until(async () => (await Promise.all(ids.map(holderOf))).filter(Boolean).length === 1);
  });

  test('are claimed for the queue as well', async () => {
    const { worker, store1, holderOf, began, letGo } = given;
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await store1());
    const here = await worker('here');
    await until(() => began.length > 0);
    for (const id of ids) expect(await holderOf(id)).toBe('here');
    expect(began).toEqual([`${ids[0]} here`]);
    letGo(...ids);
    for (const id of ids) await here.waiters.wait(id);
    expect(began).toEqual(ids.map((id) => `${id} here`));
  });

  test('are not run if another worker took their lease over meanwhile', async () => {
    const { worker, start, began, store, hub, letGo, holderOf } = given;
    const here = await worker('here');
    const first = await start(here);
    const second = await start(here);
    const lost: string[] = [];
    const renew = store.renew.bind(store);
    store.renew = async (...args) => {
      const result = await renew(...args);
      lost.push(...result.lost);
      return result;
    };
    // As if the lease had run out.
    await store.giveBack([(await store.load({ id: second }))!], { worker: 'here', duration: 1 }, 0);
    const there = await worker('there');
    await until(() => began.includes(`${second} there`));
    expect(await holderOf(second)).toBe('there');
    hub.announce({ type: 'look', id: second });
    await until(() => lost.includes(second));
    letGo(first);
    await here.waiters.wait(first);
    const last = await start(here);
    await until(() => began.includes(`${last} here`));
    expect(began).not.toContain(`${second} here`);
    letGo(second);
    expect((await there.waiters.wait(second)).state.status).toBe('completed');
  });

  test('have their leases renewed while they wait', async () => {
    const { worker, start, began, store, letGo } = given;
    const here = await worker('here', { lease: SHORT_LEASE });
    const there = await worker('there', { lease: SHORT_LEASE });
    const first = await start(here);
    const second = await start(here);
    // Each tick is a poll of the other worker, or nearly.
    for (let waited = 0; waited < SHORT_LEASE * 3; waited += 10) {
      there.tick();
      await pause(10);
    }
    letGo(first, second);
    expect((await here.waiters.wait(second)).state.status).toBe('completed');
    expect(began).toEqual([`${first} here`, `${second} here`]);
    expect((await store.load({ id: second }))!.epoch).toBe(1);
  });

  test('are cancelled before anything of them runs', async () => {
    const { worker, start, began, letGo } = given;
    const here = await worker('here');
    const first = await start(here);
    const second = await start(here);
    await here.edit({ id: second }, (saga, graph, now) => cancelEdit(saga, graph, now, { reason: 'late' }));
    letGo(first);
    expect((await here.waiters.wait(second)).state.status).toBe('compensated');
    expect(began).toEqual([`${first} here`]);
  });

  test('are given to the others at shutdown, as if they had not been taken', async () => {
    const { worker, start, began, store, letGo, holderOf } = given;
    const here = await worker('here');
    const first = await start(here);
    const second = await start(here);
    const there = await worker('there');
    const stopped = here.stop();
    await until(() => began.includes(`${second} there`));
    expect(await holderOf(first)).toBe('here');
    letGo(first, second);
    await stopped;
    expect((await there.waiters.wait(second)).state.status).toBe('completed');
    expect((await store.load({ id: second }))!.takeovers).toBe(0);
    expect(began).toEqual([`${first} here`, `${second} there`]);
  });
});

describe('without a concurrency of its own', () => {
  test('a worker takes on more sagas at once while all its slots are taken', async () => {
    const { worker, start, store1, began } = given;
    const here = await worker('here', { concurrency: undefined, ahead: undefined });
    for (let n = 0; n < 150; n += 1) await start(here);
    for (let n = 0; n < 150; n += 1) await store1();
    await until(() => began.length === 300);
  });
});
