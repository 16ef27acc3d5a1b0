import { setImmediate as turn } from 'node:timers/promises';
import { sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { log } from '../../../../../test/fixtures/run-of.js';
import { Gate } from '../../../../../test/support/gate.js';
import type { SagaSchedule } from '../../definition/options/schedule-options.js';
import { StoreClock } from '../../shared/store-clock.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import { VirtualTime } from '../../testing/virtual-time.js';
import { SagaObservers } from '../observe/saga-observers.js';
import { SagaSchedules, type SagaSchedulesPorts } from './saga-schedules.js';

const MINUTE = 60_000;
const SCHEDULE: SagaSchedule = {
  ...{ cron: '* * * * *', timezone: 'UTC', overlap: 'allow', catchUp: 'last' },
  next: (after) => (Math.floor(after / MINUTE) + 1) * MINUTE,
};
const GRAPH = { ...sequenceOf(stepOf('act')), name: 'report', version: 1, schedule: SCHEDULE };

/** Processes with the same schedule over one store, in which a minute passes only on request. */
function scene() {
  const time = new VirtualTime();
  const store = new MemorySagaStore({ now: () => time.now });
  const clock = time.clockOf({ isAlive: true });
  let ids = 0;
  const process = (
    edit: SagaSchedulesPorts['store']['editSchedule'] = (...given) => store.editSchedule(...given),
  ) => {
    const schedules = new SagaSchedules([GRAPH], {
      store: {
        schedules: () => store.schedules(),
        editSchedule: edit,
        isOutage: () => false,
      },
      retry: { run: (call) => call(), failed() {} },
      observers: new SagaObservers(log),
      definitions: { checked: async (_, input) => input },
      ...{ clock, storeClock: new StoreClock(clock), maxPayloadBytes: 1_000, log },
      newId: () => `00000000-0000-7000-8000-00000000000${(ids += 1)}`,
    });
    schedules.start();
    return schedules;
  };
  const proceedTo = async (minute: number) => {
    time.proceedTo((Math.floor(time.now / MINUTE) + minute) * MINUTE);
    await settled();
  };
  const stored = async () => (await store.schedules()).schedules[0]!;
  return { store, process, proceedTo, stored };
}

async function settled(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await turn();
}

describe('a process that has read a schedule, and waits for the lock of its row', () => {
  /** Its edits wait until the gate opens, once it has begun to look for ticks. */
  function waiting(store: MemorySagaStore) {
    const gate = new Gate();
    const state = { waits: false };
    const edit: SagaSchedulesPorts['store']['editSchedule'] = async (...given) => {
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
