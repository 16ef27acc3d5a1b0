import { VirtualTime } from '../../testing/virtual-time.js';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import type { StepContext } from '../../definition/types/contexts.js';
import { StoreClock } from '../../shared/store-clock.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import type { Checkpoint } from '../ports/checkpoint.js';
import type { HeldLease } from '../ports/stored-saga.js';
import { RunReports } from '../run/run-reports.js';
import type { LeasedRun } from '../run/saga-run-ports.js';
import { SagaEngine } from '../saga-engine.js';
import { MemoryWakeupHub } from '../../store/memory/memory-wakeup.js';
import { UnstorableError } from '../../store/memory/stored-copy.js';
import { newId } from '../../shared/new-id.js';
import { Gate } from '../../../../../test/support/gate.js';
import { LeaseKeeper } from './lease-keeper.js';

const LEASE = 30_000;
const log = { debug() {}, log() {}, warn() {}, error() {} };

class Scene {
  readonly time = new VirtualTime(0);
  /** When which reports were written. */
  readonly writes: [number, (string | undefined)[]][] = [];
  readonly reported: string[] = [];
  readonly runs: LeasedRun[] = [];
  broken = false;
  /** What the store waits for before it answers. */
  slow: Promise<void> | undefined;
  readonly keeper: LeaseKeeper;

  constructor() {
    const clock = this.time.clockOf({ isAlive: true });
    const store = {
      renew: async (leases: readonly HeldLease[]) => {
        this.writes.push([this.time.now, leases.map(({ reports }) => reports)]);
        await this.slow;
        if (this.broken) throw new Error('the connection was lost');
        return { lost: [], cancelled: [], paused: [], now: 0 };
      },
      load: async () => undefined,
      ...{ isOutage: () => true, isTransient: () => true },
    };
    const listener = { reported: (id: string) => this.reported.push(id) };
    const ports = { store, clock, random: () => 0, storeClock: new StoreClock(clock), log, listener };
    this.keeper = new LeaseKeeper({ values: () => this.runs }, { worker: 'w', duration: LEASE }, ports);
  }

  run(id: string): RunReports {
    const reported = new RunReports(undefined);
    this.runs.push({ id, epoch: 1, leasedAt: 0, reported } as unknown as LeasedRun);
    return reported;
  }

  async passes(ms: number): Promise<void> {
    this.time.proceedTo(this.time.now + ms);
    await new Promise(setImmediate);
  }
}

const beat = (at: number) => ({ heartbeat: { at } });
const text = (at: number) => `{"load":{"round":1,"heartbeat":{"at":${at}}}}`;

test('reports of all sagas are written together, the latest of each, at most once a second', async () => {
  const scene = new Scene();
  const [a, b] = [scene.run('a'), scene.run('b')];
  for (let n = 1; n <= 50; n += 1) {
    if (n <= 25) a.put('load', 1, beat(n));
    if (n === 15) b.put('load', 1, beat(n));
    if (n <= 25) scene.keeper.reportSoon();
    await scene.passes(100);
  }
  expect(scene.writes).toEqual([
    [100, [text(1)]],
    [1_100, [text(11)]],
    [2_100, [text(21), text(15)]],
    [3_100, [text(25)]],
  ]);
  expect(scene.reported).toEqual(['a', 'a', 'a', 'b', 'a']);
});

test('a report that could not be written comes with the next renewal', async () => {
  const scene = new Scene();
  const a = scene.run('a');
  scene.broken = true;
  a.put('load', 1, beat(1));
  scene.keeper.reportSoon();
  await scene.passes(100);
  scene.broken = false;
  await scene.keeper.renew(scene.runs);
  await scene.keeper.renew(scene.runs);
  expect(scene.writes.map(([, reports]) => reports)).toEqual([[text(1)], [text(1)], [undefined]]);
  expect(scene.reported).toEqual(['a']);
});

test('reports wait for those before: arriving later, older ones would overwrite them', async () => {
  const scene = new Scene();
  const a = scene.run('a');
  const answer = new Gate<void>();
  scene.slow = answer.opened;
  a.put('load', 1, beat(1));
  scene.keeper.reportSoon();
  await scene.passes(100);
  a.put('load', 1, beat(2));
  scene.keeper.reportSoon();
  void scene.keeper.renew(scene.runs);
  await scene.passes(2_000);
  expect(scene.writes.map(([, reports]) => reports)).toEqual([[text(1)], [undefined]]);
  scene.slow = undefined;
  answer.open();
  await scene.passes(0);
  await scene.passes(1_000);
  expect(scene.writes.slice(2)).toEqual([[expect.any(Number), [text(2)]]]);
});

test('a transactional step leaves its reports to the next renewal, whatever others report', async () => {
  const scene = new Scene();
  const [a, b] = [scene.run('a'), scene.run('b')];
  a.put('load', 1, beat(1), false);
  b.put('load', 1, beat(2));
  scene.keeper.reportSoon();
  await scene.passes(100);
  expect(scene.writes).toEqual([[100, [text(2)]]]);
  await scene.keeper.renew(scene.runs);
  expect(scene.writes[1]).toEqual([100, [text(1), undefined]]);
});

describe('the last details of an attempt are stored before its failure is', () => {
  /**
   * Stored reports, at the checkpoints of a saga whose only step ends like this.
   * @param isInterrupted the process shuts down as soon as the step has begun
   */
  async function storedAt(
    end: (context: StepContext) => unknown,
    isInterrupted = false,
  ): Promise<(string | undefined)[]> {
    const began = new Gate<void>();
    const hub = new MemoryWakeupHub();
    const stored: (string | undefined)[] = [];
    class Store extends MemorySagaStore {
      override async renew(...given: Parameters<MemorySagaStore['renew']>) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        return super.renew(...given);
      }
      override async checkpoint(...given: Parameters<MemorySagaStore['checkpoint']>) {
        const [{ id, state }] = given[0] as [Checkpoint];
        if (state.steps.get('load')?.result === '"refused"') throw new UnstorableError('refused');
        stored.push((await this.load({ id }))!.reports);
        return super.checkpoint(...given);
      }
    }
    const graph = graphOf(stepOf('load', { idempotent: !isInterrupted }));
    const invoke = async (_: string, given: unknown) => {
      const context = given as StepContext;
      await context.heartbeat(isInterrupted ? 'first' : 'last');
      began.open();
      return end(context);
    };
    const engine = new SagaEngine(
      new Store({ wakeup: hub.wakeup() }),
      hub.wakeup(),
      [{ graph, invoke }],
      { latest: () => graph, checked: async (_, input) => input },
      {
        ...{ workerId: 'worker', lease: LEASE, maxPayloadBytes: 1_000 },
        worker: { concurrency: 1, shutdownTimeout: 500, maxTakeovers: 3 },
      },
      log,
    );
    await engine.start();
    try {
      const id = newId();
      await engine.submit({ id, fresh: true, name: 'test', version: 1, priority: 0, step: 'load' });
      if (isInterrupted) await began.opened;
      else await engine.waiters.wait(id);
      return stored;
    } finally {
      await engine.stop();
    }
  }

  test('if it is interrupted by a shutdown, and does not run again', async () => {
    const goesOn = async (context: StepContext) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await context.heartbeat('last');
      await new Promise(() => undefined);
    };
    expect((await storedAt(goesOn, true)).at(-1)).toContain('"details":"last"');
  });

  const fail = () => {
    throw new Error('no');
  };

  test.each<[string, () => unknown]>([
    ['if it throws at once', fail],
    [
      'if they are on their way when it throws',
      () => new Promise((resolve) => setTimeout(resolve, 20)).then(fail),
    ],
    ['if the database refuses its result', () => 'refused'],
  ])('%s', async (_, end) => {
    expect((await storedAt(end))[0]).toContain('"details":"last"');
  });
});
