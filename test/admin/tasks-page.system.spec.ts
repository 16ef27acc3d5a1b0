import { Approval, Saga } from '../../libs/saga/src/index.js';
import { until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, TestBrowser } from './support/browser.js';

@Saga({ name: 'expense' })
class Expense {
  @Approval({ quorum: 2 }) agree() {}
  @Approval() pay() {}
}

inBrowser('the page of tasks', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();

  test('shows what waits for approval, and approves and rejects it', async () => {
    const { sagas, url } = await apps.start({ sagas: [Expense] });
    const { id } = await sagas.start(Expense, {}, { correlationId: 'e-1', tags: { team: 'a' } });
    await until(async () => (await sagas.tasks()).items.length === 1);
    await sagas.approve(id, 'agree', { by: 'bob' });
    const { page, wrongs } = await browser.visit(`${url}/sagas#/tasks`);
    const row = page.locator(`tr[data-task="${id} agree"]`);
    await row.getByText('1 of 2').waitFor();
    await row.getByText('team:a').waitFor();
    await row.locator('button[data-action="approve"]').click();
    await page.locator('dialog [name="by"]').fill('ann');
    await page.locator('button[data-submit="approve"]').click();
    const next = page.locator(`tr[data-task="${id} pay"]`);
    await next.locator('button[data-action="reject"]').click();
    await page.locator('dialog [name="comment"]').fill('too much');
    await page.locator('button[data-submit="reject"]').click();
    await page.getByText('No step waits for approval.').waitFor();
    expect((await sagas.wait(id)).status).toBe('compensated');
    await page.locator('input[name="step"]').fill('none');
    await page.getByText('matches these filters').waitFor();
    expect(wrongs).toEqual([]);
  });
});
