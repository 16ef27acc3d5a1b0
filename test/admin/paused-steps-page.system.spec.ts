import { Saga, Step } from '../../libs/saga/src/index.js';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, TestBrowser } from './support/browser.js';

@Saga({ name: 'order' })
class OrderSaga {
  @Step() charge() {}
}

inBrowser('paused steps', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();

  test('a step is paused and resumed on the page of its definition, which lists it meanwhile', async () => {
    const { operations, url } = await apps.start({ sagas: [OrderSaga] });
    const { page, wrongs } = await browser.visit(`${url}/sagas#/definitions`);
    await page.locator('button[data-action="pause-step"]').click();
    await page.locator('dialog textarea[name="reason"]').fill('payments are down');
    await page.locator('button[data-submit="pause-step"]').click();
    const row = page.locator('tr[data-paused="order.charge"]');
    await row.getByText('payments are down').waitFor();
    expect((await operations.pausedSteps()).items).toMatchObject([
      { step: 'charge', reason: 'payments are down' },
    ]);
    await row.locator('button[data-action="resume-step"]').click();
    await page.locator('button[data-submit="resume-step"]').click();
    await row.waitFor({ state: 'detached' });
    expect((await operations.pausedSteps()).items).toEqual([]);
    expect(wrongs).toEqual([]);
  });
});
