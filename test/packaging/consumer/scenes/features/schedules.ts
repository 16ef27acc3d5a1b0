import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Saga,
  type SagaSchedules,
  type SagaService,
  SagaStateError,
  type ScheduleTick,
  Step,
  type StepContext,
  WaitFor,
} from 'nestjs-durable-saga';
import { SagaTest } from 'nestjs-durable-saga/testing';
import { eventually } from '../eventually.js';

const EVERY_SECOND = '* * * * * *';
interface Tick {
  at: string;
}
const input = ({ at }: ScheduleTick): Tick => ({ at: at.toISOString() });

@Saga({
  schedule: { cron: EVERY_SECOND, timezone: 'Europe/Berlin', overlap: 'allow', catchUp: 'none', input },
})
class AllowedSaga {
  @Step()
  run(ctx: StepContext<Tick>): string {
    return ctx.input.at;
  }
}

@Saga({ schedule: { cron: EVERY_SECOND, overlap: 'skip' } })
class SkippedSaga {
  @WaitFor({ signal: 'end' })
  hold(): void {}
}

@Saga({ schedule: { cron: EVERY_SECOND, overlap: 'queue' } })
class QueuedSaga {
  @WaitFor({ signal: 'end' })
  hold(): void {}
}

@Saga({ schedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin', input } })
class NightlySaga {
  @Step()
  run(ctx: StepContext<Tick>): string {
    return ctx.input.at;
  }
}

/** Is in an application of its own, which is stopped for a while. */
@Saga({ schedule: { cron: EVERY_SECOND, overlap: 'allow', catchUp: 'all', input } })
export class CaughtUpSaga {
  @Step()
  run(): void {}
}

export const scheduleSagas = [AllowedSaga, SkippedSaga, QueuedSaga, NightlySaga];

async function ticksOf(sagas: SagaService, saga: string): Promise<number[]> {
  const { items } = await sagas.find({ saga, limit: 500 });
  return items
    .map(({ correlationId }) => Date.parse(correlationId.replace('schedule:', '')))
    .sort((a, b) => a - b);
}

/** One saga for each second, although two processes run the schedule. */
export async function oneSagaForEachTick(sagas: SagaService): Promise<void> {
  const ticks = await eventually(async () => {
    const found = await ticksOf(sagas, 'allowed');
    assert.ok(found.length >= 3);
    return found;
  });
  assert.equal(new Set(ticks).size, ticks.length);
  assert.ok(ticks.every((at) => at % 1000 === 0));
}

export async function overlap(sagas: SagaService, schedules: SagaSchedules): Promise<void> {
  await eventually(async () => {
    const status = (await schedules.list()).find(({ saga }) => saga === 'skipped');
    assert.ok(status?.skippedAt && status.last);
    assert.equal(status.overlap, 'skip');
  });
  assert.equal((await sagas.find({ saga: 'skipped' })).items.length, 1);
  await assert.rejects(schedules.trigger(SkippedSaga), SagaStateError);
  await eventually(async () => {
    const { items } = await sagas.find({ saga: 'queued' });
    assert.ok(items.length >= 2);
    const waits = await Promise.all(items.map(async ({ id }) => (await sagas.get(id)).waitingFor?.kind));
    assert.deepEqual(waits.toSorted().slice(-1), ['signal']);
    assert.ok(waits.includes('lock'));
  });
}

export async function pauseResumeTrigger(schedules: SagaSchedules): Promise<void> {
  const nightly = () =>
    eventually(async () => {
      const found = (await schedules.list()).find(({ saga }) => saga === 'nightly');
      assert.ok(found);
      return found;
    });
  assert.ok((await nightly()).next);
  await schedules.pause('nightly', { by: 'ann', reason: 'the warehouse is moved' });
  const paused = await nightly();
  assert.equal(paused.next, undefined);
  assert.equal(paused.paused?.by, 'ann');
  const triggered = await schedules.trigger(NightlySaga);
  assert.equal((await triggered.outcome()).status, 'completed');
  await schedules.resume(NightlySaga);
  const resumed = await nightly();
  assert.equal(resumed.paused, undefined);
  assert.ok(resumed.next);
  assert.equal(resumed.last?.triggered, true);
}

/** In Berlin, 02:30 does not exist on 29 March 2026 and comes twice on 25 October 2026. */
export async function daylightSaving(): Promise<void> {
  const test = SagaTest.of(NightlySaga);
  const times = async (from: string, until: string) =>
    (await test.ticks({ from, until })).map(({ at }) => at.toISOString());
  assert.deepEqual(await times('2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z'), [
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ]);
  assert.deepEqual(await times('2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'), [
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
  ]);
}

/** Each tick of an outage is made up for, in order. */
export async function catchUp(
  sagas: SagaService,
  start: () => Promise<{ close(): Promise<void> }>,
): Promise<void> {
  const first = await start();
  await eventually(async () => assert.ok((await ticksOf(sagas, 'caught-up')).length > 0));
  await first.close();
  const before = await ticksOf(sagas, 'caught-up');
  await sleep(2500);
  assert.deepEqual(await ticksOf(sagas, 'caught-up'), before);
  const second = await start();
  const ticks = await eventually(async () => {
    const found = await ticksOf(sagas, 'caught-up');
    assert.ok(found.length >= before.length + 3);
    return found;
  });
  await second.close();
  assert.ok(ticks.every((at, index) => index === 0 || at - ticks[index - 1]! === 1000));
}
