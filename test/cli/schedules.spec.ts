import { Saga, Step } from '../../libs/saga/src/index.js';
import { until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const here = sagaHereOn(apps);

@Saga({ name: 'nightly', schedule: { cron: '0 2 1 1 *', timezone: 'Europe/Berlin' } })
class Nightly {
  @Step() report() {}
}
@Saga({ name: 'with-input', schedule: { cron: '0 2 1 1 *', input: () => ({ a: 1 }) } })
class WithInput {
  @Step() report() {}
}

test('saga schedules lists them, and says if there are none', async () => {
  const { schedules } = await apps.start({ sagas: [Nightly] });
  await until(async () => (await schedules.list()).length === 1);
  expect((await here('schedules')).out).toMatch(
    /^nightly {2}0 2 1 1 \* Europe\/Berlin {2}next in .* {2}never ran\n$/,
  );
  await apps.sql('DELETE FROM saga.schedule');
  expect((await here('schedules')).out).toBe('No schedules\n');
});

test('a schedule is paused, triggered and resumed', async () => {
  const { sagas, schedules } = await apps.start({ sagas: [Nightly] });
  await until(async () => (await schedules.list()).length === 1);
  const paused = await here('schedule pause nightly --by ann --reason', 'inventory');
  expect([paused.code, paused.out]).toEqual([0, 'Paused the schedule of nightly\n']);
  expect((await schedules.list())[0]!.paused).toMatchObject({ by: 'ann', reason: 'inventory' });
  expect((await here('schedules')).out).toMatch(/paused .* by ann/);
  const { id } = JSON.parse((await here('schedule trigger nightly --json')).out) as { id: string };
  expect((await sagas.wait(id)).status).toBe('completed');
  expect((await here('schedules')).out).toMatch(new RegExp(`last .* ${id} ended`));
  expect((await here('schedule resume nightly')).out).toBe('Resumed the schedule of nightly\n');
  const [{ paused: still }] = JSON.parse((await here('schedules --json')).out) as [{ paused?: object }];
  expect(still).toBeUndefined();
});

test('an input that the application computes is refused, and so is a saga without a schedule', async () => {
  const { schedules } = await apps.start({ sagas: [WithInput] });
  await until(async () => (await schedules.list()).length === 1);
  expect(await here('schedule trigger with-input')).toMatchObject({
    ...{ code: 2, error: expect.stringContaining('schedule.input') },
  });
  expect(await here('schedule pause unknown')).toMatchObject({
    code: 1,
    error: expect.stringContaining('SAGA_NOT_FOUND'),
  });
});
