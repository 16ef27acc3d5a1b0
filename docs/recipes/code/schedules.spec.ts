import { SagaTest } from 'nestjs-durable-saga/testing';
import { RecipeApps } from './recipe-apps.js';
import { HourlyBillingSaga, NightlyReportSaga, ReportOperations, Warehouse } from './schedules.js';
import { until } from '../../../test/support/gate.js';

describe('a nightly report', () => {
  test('runs at 02:00 in Berlin, also in the night in which 02:00 does not exist', async () => {
    const runs = await SagaTest.of(NightlyReportSaga)
      .providers(Warehouse)
      .ticks({ from: '2026-03-27T12:00:00Z', until: '2026-03-31T12:00:00Z' });
    expect(runs.map(({ at }) => at.toISOString())).toEqual([
      '2026-03-28T01:00:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:00:00.000Z',
      '2026-03-31T00:00:00.000Z',
    ]);
    expect(runs.map(({ input }) => input)).toContainEqual({ day: '2026-03-28' });
    expect(runs.every(({ outcome }) => outcome.status === 'completed')).toBe(true);
  });

  test('can be paused, resumed and triggered', async () => {
    const { nest, sagas } = await apps.start({
      module: { providers: [NightlyReportSaga, Warehouse, ReportOperations] },
    });
    const operations = nest.get(ReportOperations);
    await until(async () => (await operations.overview()).length > 0);
    await operations.duringMigration(async () => {
      expect(await operations.overview()).toEqual(['nightly-report: paused']);
    }, 'ann');
    const { status } = await sagas.wait(await operations.now());
    expect(status).toBe('completed');
  });
  const apps = RecipeApps.onOwnDatabase();
});

test('an hourly billing runs for each hour, in order', async () => {
  const runs = await SagaTest.of(HourlyBillingSaga).ticks({
    from: '2026-01-01T00:30:00Z',
    until: '2026-01-01T03:30:00Z',
  });
  expect(runs.map(({ outcome }) => outcome.results.bill)).toEqual([
    'billed until 2026-01-01T01:00:00.000Z',
    'billed until 2026-01-01T02:00:00.000Z',
    'billed until 2026-01-01T03:00:00.000Z',
  ]);
});
