import type { Type } from '@nestjs/common';
import {
  Saga,
  type SagaModuleOptions,
  type ScheduleOptions,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';
import { statementsSentBy } from '../../support/statement-log.js';

const apps = TestApps.onOwnDatabase();

function scheduled(
  schedule: Partial<ScheduleOptions>,
  work: (ctx: StepContext<unknown>) => unknown = () => undefined,
) {
  @Saga({ name: 'nightly', schedule: { cron: '0 2 * * *', ...schedule } })
  class Nightly {
    @Step() report(ctx: StepContext<unknown>) {
      return work(ctx);
    }
  }
  return Nightly;
}

/** An application that has stored its schedule. */
async function opened(saga: Type, options?: SagaModuleOptions) {
  const app = await apps.start({ sagas: [saga], options });
  await until(async () => (await app.schedules.list()).length > 0);
  return app;
}

/** Lets the last tick be so long ago. */
const setBack = (interval: string) =>
  apps.sql(`UPDATE saga.schedule SET decided_until = now() - $1::interval`, [interval]);

const stored = () =>
  apps.sql<{ correlation_id: string }>('SELECT correlation_id FROM saga.instance ORDER BY 1');

test('a saga starts at each tick, once, in however many processes', async () => {
  const ran: string[] = [];
  // A machine that stands still for longer than a second misses none of them either.
  const everySecond = { cron: '* * * * * *', overlap: 'allow', catchUp: 'all' } as const;
  const Nightly = scheduled(everySecond, ({ correlationId }) => ran.push(correlationId));
  const all = await Promise.all([1, 2, 3].map(() => apps.start({ sagas: [Nightly] })));
  await until(() => ran.length >= 4);
  await Promise.all(all.map((app) => app.close()));
  expect(new Set(ran).size).toBe(ran.length);
  const times = ran.map((id) => Date.parse(id.slice('schedule:'.length)) / 1_000).sort((a, b) => a - b);
  expect(times).toEqual(times.map((_, n) => times[0]! + n));
});

test('ticks that no process was there for are caught up by the last one, by default', async () => {
  const Nightly = scheduled({ cron: '0 * * * *', overlap: 'allow' });
  await (await opened(Nightly)).close();
  await setBack('3 hours');
  const { schedules } = await apps.start({ sagas: [Nightly] });
  await until(async () => (await stored()).length > 0);
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  expect(await stored()).toEqual([{ correlation_id: `schedule:${new Date(hour).toISOString()}` }]);
  const [status] = await schedules.list();
  expect(status).toMatchObject({
    ...{ saga: 'nightly', cron: '0 * * * *', timezone: 'UTC', overlap: 'allow', catchUp: 'last' },
    ...{ next: new Date(hour + 3_600_000), last: { at: new Date(hour), triggered: false } },
  });
});

test('all of them are caught up, in order, if so declared', async () => {
  const Nightly = scheduled({ cron: '0 * * * *', overlap: 'queue', catchUp: 'all' });
  await (await opened(Nightly)).close();
  await setBack('3 hours');
  await apps.start({ sagas: [Nightly] });
  await until(async () => (await stored()).length === 3);
  const rows = await apps.sql<{ correlation_id: string }>(
    'SELECT correlation_id FROM saga.instance ORDER BY id',
  );
  expect(rows).toEqual(await stored());
});

test('a tick while the last saga has not ended starts none, and is shown as skipped', async () => {
  const gate = new Gate();
  const Nightly = scheduled({ cron: '0 * * * *' }, () => gate.opened);
  const { schedules } = await opened(Nightly);
  const { id, outcome } = await schedules.trigger(Nightly);
  await setBack('3 hours');
  await expect(schedules.trigger('nightly')).rejects.toMatchObject({
    code: 'SAGA_STATE',
    message: expect.stringContaining(id),
  });
  await apps.start({ sagas: [Nightly] });
  await until(async () => (await schedules.list())[0]!.skippedAt !== undefined);
  expect((await schedules.list())[0]!.last).toMatchObject({
    sagaId: id,
    triggered: true,
    status: 'running',
  });
  gate.open();
  expect((await outcome()).status).toBe('completed');
  expect((await schedules.list())[0]!.last).toEqual({ sagaId: id, triggered: true, at: expect.any(Date) });
  expect(await stored()).toHaveLength(1);
});

test('a paused schedule starts none, is not caught up, and can be triggered', async () => {
  const Nightly = scheduled({ cron: '* * * * * *', overlap: 'allow', catchUp: 'all' });
  const { schedules } = await apps.start({ sagas: [Nightly] });
  await until(async () => (await stored()).length > 0);
  await schedules.pause(Nightly, { by: 'ann', reason: 'inventory' });
  await schedules.pause('nightly', { by: 'bob' });
  const [{ next, paused }] = (await schedules.list()) as [Awaited<ReturnType<typeof schedules.list>>[0]];
  expect([next, paused]).toEqual([undefined, { at: expect.any(Date), by: 'ann', reason: 'inventory' }]);
  const before = (await stored()).length;
  const decided = async () =>
    (await apps.sql<{ at: Date }>('SELECT decided_until AS at FROM saga.schedule'))[0]!.at.getTime();
  const then = await decided();
  await until(async () => (await decided()) >= then + 2_000);
  await (await schedules.trigger(Nightly)).outcome();
  expect(await stored()).toHaveLength(before + 1);
  await setBack('1 hour');
  await schedules.resume(Nightly);
  await until(async () => (await stored()).length > before + 1);
  expect((await stored()).length).toBeLessThan(before + 20);
});

test('the input is made for each tick, and is validated', async () => {
  const seen: unknown[] = [];
  const Nightly = scheduled(
    { input: ({ at, triggered }) => Promise.resolve({ day: at.toISOString().slice(0, 10), triggered }) },
    ({ input }) => seen.push(input),
  );
  const { schedules } = await apps.start({ sagas: [Nightly] });
  const { outcome } = await schedules.trigger(Nightly);
  await outcome();
  expect(seen).toEqual([{ day: new Date().toISOString().slice(0, 10), triggered: true }]);
});

test('processes with schedules send nothing between two ticks', async () => {
  const Nightly = scheduled({});
  const app = await opened(Nightly, { worker: { pollInterval: '1h' } });
  const sent = statementsSentBy(app.dataSource);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(sent.filter(({ text }) => text.includes('schedule'))).toEqual([]);
});

test('only a saga with a schedule has one, and a process without a worker runs none', async () => {
  @Saga({ name: 'plain' })
  class Plain {
    @Step() only() {}
  }
  const Nightly = scheduled({ cron: '* * * * * *' });
  const { schedules } = await apps.start({ sagas: [Plain, Nightly], options: { worker: false } });
  await expect(schedules.trigger(Plain)).rejects.toThrow("saga 'plain' has no schedule");
  await expect(schedules.pause('nightly')).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
  await expect(schedules.resume('nobody')).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
  await expect(schedules.pause('nightly', { who: 'ann' } as never)).rejects.toThrow("unknown option 'who'");
  expect(await schedules.list()).toEqual([]);
});

test.each<[Record<string, unknown>, string]>([
  [{ cron: undefined }, 'schedule.cron is undefined'],
  [{ cron: '0 2 * *' }, 'exactly five, six, or seven'],
  [{ cron: '0 25 * * *' }, 'Invalid value for hour: 25'],
  [{ cron: '0 0 30 2 *' }, 'stands for no time'],
  [{ cron: '2027-01-01T00:00:00' }, 'it is a date'],
  [{ timezone: 'Europe/Bonn' }, "schedule.timezone is 'Europe/Bonn'"],
  [{ timezone: 2 }, 'schedule.timezone is 2'],
  [{ overlap: 'wait' }, "give 'skip' or 'queue' or 'allow'"],
  [{ catchUp: 'first' }, "schedule.catchUp is 'first'"],
  [{ catchUp: 'all' }, "set overlap to 'queue' or 'allow'"],
  [{ input: {} }, 'schedule.input'],
  [{ tz: 'UTC' }, "unknown option 'schedule.tz'"],
])('a schedule of %p is refused at start-up', async (schedule, message) => {
  await expect(apps.start({ sagas: [scheduled(schedule as never)] })).rejects.toThrow(message);
});

test('a schedule that queues is refused for a saga with a lockKey, which queues already', async () => {
  @Saga({ schedule: { cron: '0 2 * * *', overlap: 'queue' }, lockKey: () => 'a' })
  class Locked {
    @Step() only() {}
  }
  await expect(apps.start({ sagas: [Locked] })).rejects.toThrow('cannot be combined with lockKey');
});
