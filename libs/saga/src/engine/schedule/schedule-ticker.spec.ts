import { setImmediate as turn } from 'node:timers/promises';
import { sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { log } from '../../../../../test/fixtures/run-of.js';
import { Gate } from '../../../../../test/support/gate.js';
import type { SagaSchedule } from '../../definition/options/schedule-options.js';
import { StoreClock } from '../../shared/store-clock.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { VirtualTime } from '../../testing/virtual-time.js';
import { SagaObservers } from '../observe/saga-observers.js';
import { ScheduleTicker, type ScheduleTickerPorts, type ScheduledGraph } from './schedule-ticker.js';

const MINUTE = 60_000;
const SCHEDULE: SagaSchedule = {
  ...{ cron: '* * * * *', timezone: 'UTC', overlap: 'allow', catchUp: 'last' },
  next: (after) => (Math.floor(after / MINUTE) + 1) * MINUTE,
};
const GRAPH = { ...sequenceOf(stepOf('act')), name: 'report', version: 1, schedule: SCHEDULE };

/** Processes with the same schedule over one store, in which a minute passes only on request. */
function scene() {
  const time = new VirtualTime();
  /** The clock of the database is ahead of those of the processes by so much. */
  const database = { ahead: 0 };
  const store = new MemorySagaStore({ now: () => time.now + database.ahead });
  const clock = time.clockOf({ isAlive: true });
  const storeClock = new StoreClock(clock);
  let ids = 0;
  const process = (
    edit: ScheduleTickerPorts['store']['editSchedule'] = (...given) => store.editSchedule(...given),
    graphs: readonly ScheduledGraph[] = [GRAPH],
  ) => {
    const schedules = new ScheduleTicker(graphs, {
      store: {
        schedules: () => store.schedules(),
        editSchedule: edit,
        isOutage: () => false,
      },
      retry: { run: (call) => call(), failed() {} },
      observers: new SagaObservers(log),
      definitions: { checked: async (_, input) => input },
      ...{ clock, storeClock, maxPayloadBytes: 1_000, log },
      newId: () => `00000000-0000-7000-8000-00000000000${(ids += 1)}`,
    });
    schedules.start();
    return schedules;
  };
  const proceedTo = async (minute: number) => {
    time.proceedTo((Math.floor(time.now / MINUTE) + minute) * MINUTE);
    await settled();
  };
  const stored = async (name = 'report') =>
    (await store.schedules()).schedules.find(({ saga }) => saga === name)!;
  /** The store's clock differs by so much more, and a claim brings its time. */
  const setDatabase = (by: number) => {
    database.ahead += by;
    storeClock.observe(time.now + database.ahead, clock.monotonic());
  };
  return { store, process, proceedTo, stored, setDatabase };
}

async function settled(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await turn();
}

describe('a process that has read a schedule, and waits for the lock of its row', () => {
  /** The store's edits wait until the gate opens, once it has begun to look for ticks. */
  function waiting(store: MemorySagaStore) {
    const gate = new Gate();
    const state = { waits: false };
    const edit: ScheduleTickerPorts['store']['editSchedule'] = async (...given) => {
      if (state.waits) await gate.opened;
      return store.editSchedule(...given);
    };
    return { edit, gate, state };
  }

  test('leaves a tick alone that another process has decided meanwhile', async () => {
    const { store, process, proceedTo, stored } = scene();
    const { edit, gate, state } = waiting(store);
    const late = process(edit);
    const other = process();
    await proceedTo(0);
    state.waits = true;
    await proceedTo(1);
    const decided = await stored();
    expect(await store.load({ id: decided.last!.id })).toBeDefined();
    gate.open();
    await settled();
    expect(await stored()).toEqual(decided);
    await Promise.all([late.stop(), other.stop()]);
  });

  test('starts nothing once an operator has paused the schedule meanwhile', async () => {
    const { store, process, proceedTo, stored } = scene();
    const { edit, gate, state } = waiting(store);
    const late = process(edit);
    await proceedTo(0);
    state.waits = true;
    await proceedTo(1);
    await store.editSchedule('report', (schedule, now) => ({
      schedule: { ...schedule!, paused: { at: now } },
    }));
    gate.open();
    await settled();
    expect((await stored()).last).toBeUndefined();
    await late.stop();
  });
});

describe('a process whose time of the database changes', () => {
  const HOURLY: ScheduledGraph = {
    ...GRAPH,
    schedule: { ...SCHEDULE, next: (after) => (Math.floor(after / (60 * MINUTE)) + 1) * 60 * MINUTE },
  };

  test('starts what was due while its machine slept within a minute', async () => {
    const { process, proceedTo, stored, setDatabase } = scene();
    const schedules = process(undefined, [HOURLY]);
    await proceedTo(0);
    expect((await stored()).last).toBeUndefined();
    const before = (await stored()).nextAt;
    setDatabase(61 * MINUTE);
    await proceedTo(1);
    expect((await stored()).last!.at).toBeGreaterThanOrEqual(before);
    await schedules.stop();
  });

  test('goes on when the clock was set back by a day, and starts no saga again that it has started', async () => {
    const { process, proceedTo, stored, setDatabase, store } = scene();
    const schedules = process();
    await proceedTo(0);
    await proceedTo(1);
    const first = (await stored()).last!;
    setDatabase(-24 * 60 * MINUTE);
    for (const minute of [1, 1, 1]) await proceedTo(minute);
    const again = (await stored()).last!;
    expect(again.at).toBeLessThan(first.at);
    expect(again.at).toBeGreaterThan(first.at - 24 * 60 * MINUTE);
    // Back at the tick that was decided before.
    setDatabase(24 * 60 * MINUTE - 4 * MINUTE);
    await proceedTo(1);
    const { sagas } = await store.claim({
      ...{ lease: { worker: 'w', duration: 1 }, limit: 100 },
      sagas: [{ name: 'report', version: 1 }],
    });
    const ids = sagas.map(({ correlationId }) => correlationId);
    expect(ids).toHaveLength(new Set(ids).size);
    await schedules.stop();
  });
});

describe('an input of a schedule that does not settle', () => {
  const hanging = {
    ...GRAPH,
    name: 'hanging',
    schedule: { ...SCHEDULE, input: () => new Promise(() => undefined) },
  };

  test('holds back neither the other schedules of the process nor its end, and fails after 30 s', async () => {
    const { process, proceedTo, stored } = scene();
    const schedules = process(undefined, [hanging, GRAPH]);
    await proceedTo(0);
    for (const minute of [1, 1]) await proceedTo(minute);
    const tick = (await stored()).last!.at;
    await proceedTo(1);
    expect((await stored()).last!.at).toBe(tick + MINUTE);
    expect((await stored('hanging')).last).toBeUndefined();
    await schedules.stop();
  });
});
