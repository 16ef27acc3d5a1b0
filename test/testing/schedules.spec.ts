import {
  Saga,
  type ScheduleTick,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

@Saga({
  name: 'nightly',
  schedule: {
    ...{ cron: '30 2 * * *', timezone: 'Europe/Berlin' },
    input: ({ at }: ScheduleTick) => ({ day: at.toISOString() }),
  },
})
class NightlySaga {
  @Step() report(ctx: StepContext<{ day: string }>): string {
    if (ctx.input.day.startsWith('2026-03-28')) throw new StepRejectedError('no data');
    return ctx.input.day;
  }
}

const startsOf = (runs: readonly { at: Date }[]) => runs.map(({ at }) => at.toISOString().slice(0, 16));

test('A schedule starts a saga at each of its times, in virtual time', async () => {
  const runs = await SagaTest.of(NightlySaga).ticks({
    from: '2026-03-27T12:00:00Z',
    until: '2026-03-30T12:00:00Z',
  });
  // The clock is put forward in the second night, in which 02:30 does not exist.
  expect(startsOf(runs)).toEqual(['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30']);
  expect(runs.map(({ outcome }) => outcome.status)).toEqual(['compensated', 'completed', 'completed']);
  expect(runs[1]!.input).toEqual({ day: '2026-03-29T01:00:00.000Z' });
  expect(runs[1]!.outcome.results).toEqual({ report: '2026-03-29T01:00:00.000Z' });
});

function hourly(overlap: 'skip' | 'queue' | 'allow') {
  @Saga({ name: 'hourly', schedule: { cron: '0 * * * *', overlap } })
  class Hourly {
    @Step() begin() {}
    @Step({ delay: '150m' }) end() {}
  }
  return SagaTest.of(Hourly).ticks({ from: '2026-01-01T00:30:00Z', until: '2026-01-01T08:30:00Z' });
}

test('A saga that takes longer than the time between two ticks keeps those in between from starting', async () => {
  expect(startsOf(await hourly('skip')).map((at) => at.slice(11))).toEqual(['01:00', '04:00', '07:00']);
});

test('Sagas that overlap wait for each other in order, if they are to queue', async () => {
  const runs = await hourly('queue');
  expect(runs).toHaveLength(8);
  expect(runs.map(({ outcome }) => outcome.status)).toEqual([
    ...['completed', 'completed', 'completed'],
    ...['running', 'running', 'running', 'running', 'running'],
  ]);
});

test('Sagas that may overlap run side by side', async () => {
  const statuses = (await hourly('allow')).map(({ outcome }) => outcome.status);
  expect([statuses.length, statuses.filter((status) => status === 'completed').length]).toEqual([8, 6]);
});

test('A saga without a schedule has no ticks, and a period ends after it begins', async () => {
  @Saga()
  class Plain {
    @Step() only() {}
  }
  const period = { from: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' };
  await expect(SagaTest.of(Plain).ticks(period)).rejects.toThrow('Plain has no schedule');
  const test = SagaTest.of(NightlySaga);
  await expect(test.ticks({ ...period, until: period.from })).rejects.toThrow('give a time after from');
  await expect(test.ticks({ ...period, from: 'soon' })).rejects.toThrow("from is 'soon'");
});

test('The schedule of a saga that is run by a test starts nothing', async () => {
  const run = await SagaTest.of(NightlySaga).run({ day: 'x' });
  expect((await run.sagas.find({ saga: 'nightly' })).items).toHaveLength(1);
});
