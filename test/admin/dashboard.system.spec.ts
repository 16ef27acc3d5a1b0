import type { Page } from 'playwright-core';
import { Saga, Step, type StepContext } from '../../libs/saga/src/index.js';
import { Gate } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, TestBrowser } from './support/browser.js';
import { DOWN, GrantCreditSaga, order, PlaceOrderSaga, stuckOrder } from './support/shop.js';

const SHOP = { sagas: [PlaceOrderSaga, GrantCreditSaga] };
@Saga({ name: 'suspended', onFailure: 'suspend', retry: { attempts: 1 } })
class SuspendedSaga {
  @Step() pay(): void {
    throw new Error('terminal is down');
  }
}

afterEach(() => DOWN.clear());

inBrowser('an operator who has only the dashboard', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();

  test('sees which step runs, and when an attempt was lost with its worker', async () => {
    const [started, again, answered] = [new Gate(), new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order {
      @Step() async charge({ attempt }: StepContext) {
        (attempt === 1 ? started : again).open();
        await answered.opened;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id } = await sagas.start(Order, {});
    await started.opened;
    const { lockedBy } = await sagas.get(id);
    await apps.sql(
      `UPDATE saga.instance SET starts_at = NULL, due_at = now(), rank_at = now() WHERE id = $1`,
      [id],
    );
    const other = await apps.start({ sagas: [Order], options: { worker: { pollInterval: '20ms' } } });
    await again.opened;
    const { body } = await other.client.get(`/api/sagas/${id}`);
    expect(body.steps).toMatchObject([
      {
        ...{ status: 'running', attempts: 2, runningSince: expect.any(String) },
        lost: [{ attempt: 1, during: 'step', worker: lockedBy, lostAt: expect.any(String) }],
      },
    ]);
    const { page, wrongs } = await browser.visit(`${other.url}/sagas#/saga/${id}`);
    const timeline = page.locator('.timeline');
    for (const text of [
      `attempt 1 began on worker ${lockedBy}`,
      `attempt 1 was lost: the lease of worker ${lockedBy} expired`,
      'attempt 1: another worker took over',
      'attempt 2 began',
    ])
      await timeline.getByText(text).waitFor();
    answered.open();
    expect(wrongs).toEqual([]);
  });

  test('finds a stuck saga at the top, sees why, and frees it', async () => {
    const { sagas, url } = await apps.start(SHOP);
    const id = await stuckOrder(sagas);
    const later = await sagas.start(PlaceOrderSaga, order(), { correlationId: 'order-1235' });
    await later.outcome();

    const { page, wrongs } = await browser.visit(`${url}/sagas`);
    await page.getByRole('heading', { name: '1 saga needs attention' }).waitFor();
    expect(await page.locator('main table a.row').allTextContents()).toEqual(['order-1234', 'order-1235']);
    await page.getByRole('link', { name: 'order-1234' }).click();
    await page.getByText('The compensation releaseStock (of reserveStock) failed after 3 attempts').waitFor();
    await page.locator('.timeline').getByText('inventory: 503 Service Unavailable').first().waitFor();
    const colours = await page.evaluate<Record<string, string>>(
      `Object.fromEntries([...document.querySelectorAll('.graph .node')].map((n) => [n.dataset.step, n.dataset.status]))`,
    );
    expect(colours).toEqual({
      reserveStock: 'compensation_failed',
      chargeCard: 'compensated',
      printLabel: 'compensated',
      ship: 'failed',
      confirm: 'pending',
    });

    DOWN.clear();
    await page.getByRole('button', { name: 'Retry' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('inventory is back');
    await dialog.getByLabel('Your name').fill('Ada');
    await dialog.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('It was compensated').waitFor();
    expect((await sagas.get(id)).status).toBe('compensated');
    await page.locator('.history').getByText('retried by Ada, while stuck').waitFor();
    await page.locator('.history').getByText('inventory is back').waitFor();
    expect(wrongs).toEqual([]);
  });

  test('is shown what cancelling would undo before it does, and has to say why', async () => {
    const { sagas, url } = await apps.start(SHOP);
    const { id } = await sagas.start(GrantCreditSaga, {});
    const { page, wrongs } = await browser.visit(`${url}/sagas#/saga/${id}`);
    await page.getByText("It waits for the signal 'bureau-report' for step 'report'").waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('These steps have no compensation and stay as they are: score.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect((await sagas.get(id)).status).toBe('running');
    await dialog.getByLabel('Reason').fill('withdrawn');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('It was compensated').waitFor();
    expect((await sagas.get(id)).failure).toMatchObject({ kind: 'cancelled', reason: 'withdrawn' });
    expect(wrongs).toEqual([]);
  });

  test('answers what a saga waits for: a signal, and a decision', async () => {
    const { sagas, url } = await apps.start({ ...SHOP, admin: { operator: () => 'ada' } });
    const credit = await sagas.start(GrantCreditSaga, {});
    const { page, wrongs } = await browser.visit(`${url}/sagas#/saga/${credit.id}`);
    await page.getByRole('button', { name: 'Signal…' }).click();
    await page.getByRole('dialog').getByLabel('Payload').fill('{ not json');
    await page.getByRole('dialog').getByRole('button', { name: 'Signal' }).click();
    await page.getByRole('dialog').getByText('payload is not JSON').waitFor();
    await page.getByRole('dialog').getByLabel('Payload').fill('{"clean": true}');
    await page.getByRole('dialog').getByRole('button', { name: 'Signal' }).click();
    await page.locator('.sentence').getByText("an operator to approve or reject step 'decide'").waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByText('It completed').waitFor();
    expect((await credit.outcome()).results.report).toEqual({ clean: true });
    expect(wrongs).toEqual([]);
  });

  test('sees a clear message when another operator was faster, and nothing happens', async () => {
    const { sagas, operations, url } = await apps.start(SHOP);
    const id = await stuckOrder(sagas);
    const { page } = await browser.visit(`${url}/sagas#/saga/${id}`);
    await page.getByRole('button', { name: 'Retry' }).click();
    await operations.abort(id, { reason: 'sorted out' });
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Nothing was done: the saga has changed since this page showed it.').waitFor();
    expect((await sagas.get(id)).status).toBe('aborted');
    await page.getByRole('button', { name: 'Show the saga again' }).click();
    await page.getByText('It was aborted').waitFor();
  });

  test('sees that a second operator has to agree, and that operator sees the proposal', async () => {
    const options = { approvals: { abort: 2 } };
    const { sagas, url } = await apps.start({ ...SHOP, options });
    const { id } = await sagas.start(GrantCreditSaga, {});
    const abort = async (page: Page, name: string) => {
      await page.getByRole('button', { name: 'Abort…' }).click();
      await page.getByRole('dialog').getByLabel('Reason').fill('fraud');
      await page.getByRole('dialog').getByLabel('Your name').fill(name);
      await page.getByRole('dialog').getByRole('button', { name: 'Abort the saga' }).click();
    };
    const [ada, bob] = [
      await browser.visit(`${url}/sagas#/saga/${id}`),
      await browser.visit(`${url}/sagas#/saga/${id}`),
    ];
    for (const { page } of [ada, bob])
      await page.getByText("It waits for the signal 'bureau-report' for step 'report'").waitFor();
    await abort(ada.page, 'Ada');
    await ada.page.getByText('Proposed. 1 more operator must do the same.').waitFor();
    await bob.page.locator('.history').getByText('abort proposed by Ada, while running').waitFor();
    await abort(bob.page, 'Bob');
    await ada.page.getByText('It was aborted').waitFor();
    expect([...ada.wrongs, ...bob.wrongs]).toEqual([]);
  });

  test('counts many before acting on them, and acts on those that the filters find', async () => {
    const { sagas, url } = await apps.start(SHOP);
    for (const n of [1, 2, 3])
      await sagas.start(GrantCreditSaga, {}, { tags: { tenant: n < 3 ? 'acme' : 'globex' } });
    const { page, wrongs } = await browser.visit(`${url}/sagas#/?saga=grant-credit&tag=tenant:acme`);
    await page.getByRole('button', { name: 'Bulk action…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Action').selectOption('abort');
    await dialog.getByText('2 sagas match.').waitFor();
    await dialog.getByLabel('Reason').fill('acme has left');
    await dialog.getByRole('button', { name: 'Abort 2 sagas' }).click();
    await page.getByText('Aborted 2 of 2 sagas.').waitFor();
    const { items } = await sagas.find({ status: 'running' });
    expect(items.map(({ tags }) => tags.tenant)).toEqual(['globex']);
    expect(wrongs).toEqual([]);
  });

  test('is asked for the saga when the list shows all of them, and reads afterwards what was done', async () => {
    const { sagas, url } = await apps.start(SHOP);
    const ids = await Promise.all([1, 2].map((n) => stuckOrder(sagas, `order-${n}`)));
    const { page, wrongs } = await browser.visit(`${url}/sagas`);
    await page.getByRole('button', { name: 'Bulk action…' }).click();
    const dialog = page.getByRole('dialog');
    const act = dialog.locator('button[type=submit]');
    expect(await act.isDisabled()).toBe(true);
    await dialog.getByLabel('Saga').selectOption('place-order');
    await dialog.getByLabel('Action').selectOption('abort');
    await dialog.getByRole('button', { name: 'Abort 2 sagas' }).waitFor();
    expect(await act.getAttribute('class')).toContain('danger');
    await dialog.getByLabel('Action').selectOption('retry');
    await dialog.getByRole('button', { name: 'Retry 2 sagas' }).waitFor();
    expect(await act.getAttribute('class')).not.toContain('danger');
    await dialog.getByLabel('Reason').fill('inventory is back');
    DOWN.clear();
    await act.click();
    await dialog.getByText('Retried 2 of 2 sagas.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    for (const id of ids) expect((await sagas.wait(id)).status).toBe('compensated');
    expect(wrongs).toEqual([]);
  });

  test('reads which compensation failed, in the list and when it is resolved', async () => {
    const { sagas, url } = await apps.start({ ...SHOP, admin: { operator: () => 'ada' } });
    const id = await stuckOrder(sagas);
    const { page, wrongs } = await browser.visit(`${url}/sagas`);
    await page.getByRole('cell', { name: 'compensation releaseStock (of reserveStock)' }).waitFor();
    await page.getByRole('link', { name: 'order-1234' }).click();
    await page.getByRole('button', { name: 'Resolve…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Mark this compensation as done elsewhere?').waitFor();
    expect(await dialog.getByLabel('Compensation').textContent()).toBe('releaseStock (of reserveStock)');
    // A compensation has no result.
    expect(await dialog.getByLabel('Result').count()).toBe(0);
    await dialog.getByLabel('Reason').fill('put back on the shelf');
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await page.getByText('It was compensated').waitFor();
    expect((await sagas.get(id)).status).toBe('compensated');
    expect(wrongs).toEqual([]);
  });

  test('gives the result of a step that failed while the saga goes forward', async () => {
    const { sagas, url } = await apps.start({ sagas: [SuspendedSaga], admin: { operator: () => 'ada' } });
    const handle = await sagas.start(SuspendedSaga, {});
    await handle.outcome();
    const { page, wrongs } = await browser.visit(`${url}/sagas#/saga/${handle.id}`);
    await page.getByRole('button', { name: 'Resolve…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Mark this step as done elsewhere?').waitFor();
    await dialog.getByLabel('Result').fill('{"paid": 20}');
    await dialog.getByLabel('Reason').fill('paid in cash');
    await dialog.getByRole('button', { name: 'Resolve' }).click();
    await page.getByText('It completed').waitFor();
    expect((await sagas.wait(handle.id)).results).toEqual({ pay: { paid: 20 } });
    expect(wrongs).toEqual([]);
  });
});
