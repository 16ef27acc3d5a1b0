import { v7 as uuidv7 } from 'uuid';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { Gate, pause, until } from '../../../../../test/support/gate.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import { type Clock, systemClock } from '../../shared/clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import { LeaseKeeper } from './lease-keeper.js';
import { SagaEngine } from '../saga-engine.js';
import type { SagaRun } from '../run/saga-run.js';
import type { ClaimRequest } from '../ports/saga-store.js';
import { StoreClock } from '../../shared/store-clock.js';

const LEASE = 30_000;
const log = { debug() {}, log() {}, warn() {}, error() {} };

function engineOver(store: MemorySagaStore, hub: MemoryWakeupHub, given: Given): SagaEngine {
  const graph = graphOf(stepOf('book'));
  return new SagaEngine(
    store,
    hub.wakeup(),
    [{ graph, invoke: given.invoke }],
    { latest: () => graph, checked: async (_, input) => input },
    {
      workerId: 'worker',
      worker: { concurrency: given.concurrency ?? 10, shutdownTimeout: 1_000, maxTakeovers: 3 },
      lease: given.lease ?? LEASE,
      maxPayloadBytes: 2 ** 20,
      clock: given.clock,
    },
    given.log ?? log,
  );
}

interface Given {
  readonly invoke: (step: string) => unknown;
  readonly concurrency?: number;
  readonly clock?: Clock;
  /** Milliseconds. */
  readonly lease?: number;
  readonly log?: EngineLog;
}

const newOrder = () => ({
  ...{ id: uuidv7(), fresh: true, name: 'test', version: 1, priority: 0, step: 'book' },
});

test('renewals that fail are logged once in half a minute, with how long it has lasted, and once when they succeed', async () => {
  let time = 0;
  const clock: Clock = { ...systemClock, monotonic: () => time };
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  let fails = true;
  const store = {
    renew: async () => {
      if (fails) throw new Error('the server is gone');
      return { lost: [], cancelled: [], paused: [], now: 0 };
    },
    load: async () => undefined,
    ...{ isOutage: () => true, isTransient: () => true },
  };
  const ports = {
    store,
    clock,
    random: () => 0,
    storeClock: new StoreClock(clock),
    log: { ...log, warn: note, log: note },
  };
  const keeper = new LeaseKeeper(new Map(), { worker: 'worker', duration: LEASE }, ports);
  for (; time < 40_000; time += 1_000) await keeper.renew([]);
  fails = false;
  await keeper.renew([]);
  expect(lines.map((line) => line.slice(0, line.indexOf('. It')))).toEqual([
    'The renewal of leases failed: the server is gone',
    'The renewal of leases failed, 31 times in 30.0 s: the server is gone',
    expect.any(String),
  ]);
  expect(lines[2]).toBe('The renewal of leases succeeded again after 40 failure(s) in 40.0 s');
});

describe('a lease counts from when it was requested, however long the answer takes', () => {
  test('after a renewal', async () => {
    let time = 100;
    const clock: Clock = { ...systemClock, monotonic: () => time };
    const run = { id: 'order', epoch: 1, leasedAt: 0 } as SagaRun;
    const store = {
      renew: async () => {
        time += LEASE;
        return { lost: [], cancelled: [], paused: [], now: 0 };
      },
      load: async () => undefined,
      ...{ isOutage: () => false, isTransient: () => true },
    };
    const lease = { worker: 'worker', duration: LEASE };
    const ports = { store, clock, random: () => 0, storeClock: new StoreClock(clock), log };
    await new LeaseKeeper(new Map([[run.id, run]]), lease, ports).renew([run]);
    expect(run.leasedAt).toBe(100);
  });

  test('after a claim: nothing begins before it is renewed', async () => {
    const happened: string[] = [];
    let late = 0;
    class SlowStore extends MemorySagaStore {
      override async claim(request: ClaimRequest) {
        const claim = await super.claim(request);
        if (claim.sagas.length > 0) late = LEASE;
        return claim;
      }
      override async renew(...given: Parameters<MemorySagaStore['renew']>) {
        happened.push('renewed');
        return super.renew(...given);
      }
    }
    const hub = new MemoryWakeupHub();
    const store = new SlowStore({ wakeup: hub.wakeup() });
    const order = newOrder();
    await store.start([{ ...order, leased: false }], { worker: 'nobody', duration: LEASE });
    const engine = engineOver(store, hub, {
      invoke: (step) => void happened.push(step),
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + late },
    });
    await engine.start();
    try {
      expect((await engine.waiters.wait(order.id)).state.status).toBe('completed');
      expect(happened).toEqual(['renewed', 'book']);
    } finally {
      await engine.stop();
    }
  });
});

test('a start whose answer was lost is not run if its lease is gone by the time it is answered', async () => {
  class ForgetfulStore extends MemorySagaStore {
    private isLost = false;
    override isTransient(): boolean {
      return true;
    }
    override async start(...given: Parameters<MemorySagaStore['start']>) {
      const results = await super.start(...given);
      if (this.isLost) return results;
      this.isLost = true;
      const { id } = given[0][0]!;
      await this.edit({ id }, ({ state }) => ({
        state: { ...state, status: 'aborted' },
        due: false,
        step: '',
      }));
      throw new Error('Connection terminated');
    }
  }
  const hub = new MemoryWakeupHub();
  const ran: string[] = [];
  const store = new ForgetfulStore({ wakeup: hub.wakeup() });
  const engine = engineOver(store, hub, { invoke: (step) => void ran.push(step) });
  await engine.start();
  const order = newOrder();
  expect(await engine.submit(order)).toMatchObject({ created: true, leased: false });
  expect((await engine.waiters.wait(order.id)).state.status).toBe('aborted');
  await engine.stop();
  expect(ran).toEqual([]);
});

test('a process runs no more sagas at once than its concurrency', async () => {
  const hub = new MemoryWakeupHub();
  const store = new MemorySagaStore({ wakeup: hub.wakeup() });
  let underWay = 0;
  let most = 0;
  const engine = engineOver(store, hub, {
    concurrency: 3,
    invoke: async () => {
      most = Math.max(most, (underWay += 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay -= 1;
    },
  });
  await engine.start();
  const orders = Array.from({ length: 30 }, newOrder);
  for (const order of orders) await engine.submit(order);
  await Promise.all(orders.map(({ id }) => engine.waiters.wait(id)));
  await engine.stop();
  expect(most).toBe(3);
});

describe('a process that stood still for longer than its leases', () => {
  let engine: SagaEngine;

  afterEach(() => engine.stop());

  /** An engine whose only saga has a step in progress. Then more time than a lease has passed at once. */
  async function stoodStill(isRenewed: () => boolean) {
    let late = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + late };
    const seen: string[] = [];
    class WatchedStore extends MemorySagaStore {
      override async claim(request: ClaimRequest) {
        seen.push('claim');
        return super.claim(request);
      }
      override async renew(...given: Parameters<MemorySagaStore['renew']>) {
        seen.push('renewal');
        if (!isRenewed()) throw new Error('the server is gone');
        return super.renew(...given);
      }
    }
    const hub = new MemoryWakeupHub();
    const store = new WatchedStore({ wakeup: hub.wakeup(), now: () => Date.now() + late });
    const finished = new Gate();
    engine = engineOver(store, hub, { invoke: () => finished.opened, clock });
    await engine.start();
    const order = newOrder();
    await engine.submit(order);
    late = LEASE + 1;
    seen.length = 0;
    return { order, seen, finish: () => finished.open(), store, pass: (ms: number) => void (late += ms) };
  }

  test('takes no saga from itself: it renews its leases before it claims', async () => {
    const { order, seen, finish, store } = await stoodStill(() => true);
    engine.announceDue();
    await until(() => seen.includes('claim'));
    finish();
    expect((await engine.waiters.wait(order.id)).state.status).toBe('completed');
    expect(seen.slice(0, 2)).toEqual(['renewal', 'claim']);
    expect(await store.load({ id: order.id })).toMatchObject({ epoch: 1, losses: 0 });
  });

  test('claims nothing until it has renewed them', async () => {
    let isGone = true;
    const { order, seen, finish, store } = await stoodStill(() => !isGone);
    for (let n = 0; n < 3; n += 1) {
      engine.announceDue();
      await pause(5);
    }
    expect(new Set(seen)).toEqual(new Set(['renewal']));
    isGone = false;
    engine.announceDue();
    await until(() => seen.includes('claim'));
    finish();
    expect((await engine.waiters.wait(order.id)).state.status).toBe('completed');
    expect(await store.load({ id: order.id })).toMatchObject({ epoch: 1, losses: 0 });
  });

  test('claims again if it cannot renew them for as long as a lease, or one saga would keep it from all others', async () => {
    const { seen, finish, pass } = await stoodStill(() => false);
    engine.announceDue();
    await until(() => seen.length > 0);
    expect(seen).not.toContain('claim');
    pass(LEASE + 1);
    engine.announceDue();
    await until(() => seen.includes('claim'));
    finish();
  });
});

test('a run that fails as it ends, after its saga was claimed here again, leaves the new run its lease', async () => {
  const short = 200;
  const claimed: number[] = [];
  let renewed!: (epoch: number) => void;
  const firstRenewed = new Promise<number>((resolve) => (renewed = resolve));
  /** The first lease runs out: its renewals do not arrive. */
  class DeafStore extends MemorySagaStore {
    override async claim(request: ClaimRequest) {
      const claim = await super.claim(request);
      claimed.push(...claim.sagas.map(({ epoch }) => epoch));
      return claim;
    }
    override async renew(...[runs, lease]: Parameters<MemorySagaStore['renew']>) {
      const heard = runs.filter(({ epoch }) => epoch > 1);
      if (heard.length > 0) renewed(heard[0]!.epoch);
      return super.renew(heard, lease);
    }
  }
  const hub = new MemoryWakeupHub();
  const store = new DeafStore({ wakeup: hub.wakeup() });
  let finish!: () => void;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const brokenLog = {
    ...log,
    debug() {
      throw new Error('The log is full');
    },
  };
  const engine = engineOver(store, hub, { invoke: () => finished, lease: short, log: brokenLog });
  await engine.start();
  const order = newOrder();
  await engine.submit(order);
  while (!claimed.includes(2)) {
    engine.tick();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(await firstRenewed).toBe(2);
  finish();
  await engine.waiters.wait(order.id);
  await engine.stop();
});
