import { Saga, Step } from '../../libs/saga/src/index.js';
import { until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, TestBrowser } from './support/browser.js';

@Saga({ name: 'nightly', schedule: { cron: '0 2 1 1 *', timezone: 'Europe/Berlin' } })
class Nightly {
  @Step() report() {}
}

inBrowser('the page of schedules', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();

  test('shows each schedule with its runs, and pauses, resumes and starts it', async () => {
    const { sagas, schedules, url } = await apps.start({ sagas: [Nightly] });
    await until(async () => (await schedules.list()).length === 1);
    const { page, wrongs } = await browser.visit(`${url}/sagas#/schedules`);
    const row = page.locator('tr[data-schedule="nightly"]');
    await row.getByText('0 2 1 1 *').waitFor();
    await row.locator('button[data-action="pause"]').click();
    await page.locator('dialog input[name="reason"], dialog textarea[name="reason"]').fill('inventory');
    await page.locator('button[data-submit="pause"]').click();
    await row.getByText('inventory').waitFor();
    expect((await schedules.list())[0]!.paused).toMatchObject({ reason: 'inventory' });
    await row.locator('button[data-action="trigger"]').click();
    await page.locator('button[data-submit="trigger"]').click();
    await row.getByText('started by an operator').waitFor();
    await row.locator('button[data-action="resume"]').click();
    await page.locator('button[data-submit="resume"]').click();
    await row.locator('button[data-action="pause"]').waitFor();
    expect((await sagas.find({ saga: 'nightly' })).items).toHaveLength(1);
    expect(wrongs).toEqual([]);
  });
});
