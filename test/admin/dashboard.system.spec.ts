import type { Page } from 'playwright-core';
import { Saga, Step, type StepContext, StepRejectedError } from '../../libs/saga/src/index.js';
import { SAGA_STATUSES } from '../../libs/saga/src/definition/types/saga-status.js';
import { Gate, until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';
import { DESKTOP, inBrowser, PHONE, TestBrowser } from './support/browser.js';
import { DOWN, GrantCreditSaga, order, PlaceOrderSaga, stuckOrder } from './support/shop.js';

const SHOP = { sagas: [PlaceOrderSaga, GrantCreditSaga] };
@Saga({ name: 'suspended', onFailure: 'suspend', retry: { attempts: 1 } })
class SuspendedSaga {
  @Step() pay(): void {
    throw new Error('terminal is down');
  }
}

const MARKUP = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>';

afterEach(() => DOWN.clear());

inBrowser('an operator who has only the dashboard', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();

  test('sees which step runs, and when an attempt was lost with its worker', async () => {
    const [begun, again, answered] = [new Gate(), new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order {
      @Step() async charge({ attempt }: StepContext) {
        (attempt === 1 ? begun : again).open();
        await answered.opened;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id } = await sagas.start(Order, {});
    await begun.opened;
    const { lockedBy } = await sagas.get(id);
    await apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1`, [id]);
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
      'running at attempt 2',
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
    await page.getByText('Ada retried while it was stuck').waitFor();
    await page.getByText('inventory is back').waitFor();
    expect(wrongs).toEqual([]);
  });

  test('is shown what cancelling would undo before it does, and has to say why', async () => {
    const { sagas, url } = await apps.start(SHOP);
    const { id } = await sagas.start(GrantCreditSaga, {});
    const { page, wrongs } = await browser.visit(`${url}/sagas#/saga/${id}`);
    await page.getByText('report waits for the signal “bureau-report”').waitFor();
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
    await page.locator('.sentence').getByText('decide waits for an operator').waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByText('It completed').waitFor();
    expect((await credit.outcome()).results.report).toEqual({ clean: true });
    expect(wrongs).toEqual([]);
  });

  test('is told plainly when another was quicker, and nothing happens', async () => {
    const { sagas, url } = await apps.start(SHOP);
    const id = await stuckOrder(sagas);
    const { page } = await browser.visit(`${url}/sagas#/saga/${id}`);
    await page.getByRole('button', { name: 'Retry' }).click();
    await sagas.abort(id, { reason: 'sorted out' });
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Nothing was done: the saga has changed since this page showed it.').waitFor();
    expect((await sagas.get(id)).status).toBe('aborted');
    await page.getByRole('button', { name: 'Show the saga again' }).click();
    await page.getByText('It was aborted').waitFor();
  });

  test('is told when a second person has to agree, and that person sees the proposal', async () => {
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
    await abort(ada.page, 'Ada');
    await ada.page.getByText('Proposed. 1 more operator must do the same.').waitFor();
    await bob.page.getByText('Ada proposed to abort it while it was running').waitFor();
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

  test('reads which compensation failed, in the list and when it is skipped', async () => {
    const { sagas, url } = await apps.start({ ...SHOP, admin: { operator: () => 'ada' } });
    const id = await stuckOrder(sagas);
    const { page, wrongs } = await browser.visit(`${url}/sagas`);
    await page.getByRole('cell', { name: 'compensation releaseStock (of reserveStock)' }).waitFor();
    await page.getByRole('link', { name: 'order-1234' }).click();
    await page.getByRole('button', { name: 'Skip…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Mark this compensation as completed manually?').waitFor();
    expect(await dialog.getByLabel('Compensation').textContent()).toBe('releaseStock (of reserveStock)');
    // A compensation has no result.
    expect(await dialog.getByLabel('Result').count()).toBe(0);
    await dialog.getByLabel('Reason').fill('put back on the shelf');
    await dialog.getByRole('button', { name: 'Skip' }).click();
    await page.getByText('It was compensated').waitFor();
    expect((await sagas.get(id)).status).toBe('compensated');
    expect(wrongs).toEqual([]);
  });

  test('gives the result of a step that failed while the saga goes forward', async () => {
    const { sagas, url } = await apps.start({ sagas: [SuspendedSaga], admin: { operator: () => 'ada' } });
    const handle = await sagas.start(SuspendedSaga, {});
    await handle.outcome();
    const { page, wrongs } = await browser.visit(`${url}/sagas#/saga/${handle.id}`);
    await page.getByRole('button', { name: 'Skip…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Mark this step as completed manually?').waitFor();
    await dialog.getByLabel('Result').fill('{"paid": 20}');
    await dialog.getByLabel('Reason').fill('paid in cash');
    await dialog.getByRole('button', { name: 'Skip' }).click();
    await page.getByText('It completed').waitFor();
    expect((await sagas.wait(handle.id)).results).toEqual({ pay: { paid: 20 } });
    expect(wrongs).toEqual([]);
  });

  test('sees the list change without doing anything, and searches by correlation id', async () => {
    const { sagas, url } = await apps.start(SHOP);
    const { page, wrongs } = await browser.visit(`${url}/sagas`);
    await page.getByText('No sagas yet').waitFor();
    for (const n of [1, 2, 3])
      await (await sagas.start(PlaceOrderSaga, order(), { correlationId: `o-${n}` })).outcome();
    await page.getByRole('link', { name: 'o-3' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('o-2');
    await until(async () => (await page.locator('a.row').allTextContents()).join() === 'o-2');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'o-2' }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test('pages through all of them', async () => {
    const { sagas, url } = await apps.start(SHOP);
    const handles = await Promise.all(
      Array.from({ length: 60 }, (_, n) => sagas.start(PlaceOrderSaga, order(), { correlationId: `o-${n}` })),
    );
    await Promise.all(handles.map((handle) => handle.outcome()));
    const { page } = await browser.visit(`${url}/sagas`);
    const rows = page.locator('a.row');
    await until(async () => (await rows.count()) === 50);
    const first = await rows.allTextContents();
    await page.getByRole('button', { name: 'Older →' }).click();
    await until(async () => (await rows.count()) === 10);
    expect(new Set([...first, ...(await rows.allTextContents())]).size).toBe(60);
    await page.getByRole('button', { name: '← Newer' }).click();
    await until(async () => (await rows.count()) === 50);
  });

  test('does everything by the keyboard', async () => {
    const { sagas, url } = await apps.start(SHOP);
    for (const n of [1, 2])
      await (await sagas.start(PlaceOrderSaga, order(), { correlationId: `o-${n}` })).outcome();
    const { page } = await browser.visit(`${url}/sagas`);
    await page.getByRole('link', { name: 'o-1' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    expect(await focused(page)).toBe('o-1');
    await page.keyboard.press('k');
    expect(await focused(page)).toBe('o-2');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'o-2' }).waitFor();
    await page.getByRole('button', { name: 'Undo…' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await focused(page)).toBe('Undo…');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'o-1' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('these keys').waitFor();
    await page.keyboard.press('Escape');
    for (const [key, heading] of [
      ['o', 'Overview'],
      ['d', 'Definitions'],
    ] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
    }
  });

  test('sees definitions with their diagrams, and rates over time', async () => {
    const { sagas, url } = await apps.start(SHOP);
    for (const fails of [undefined, 'charge'] as const)
      await (await sagas.start(PlaceOrderSaga, order({ fails }))).outcome();
    const { page, wrongs } = await browser.visit(`${url}/sagas#/definitions`);
    await page.getByRole('link', { name: 'place-order' }).click();
    await page.getByRole('cell', { name: 'releaseStock' }).waitFor();
    expect(await page.locator('.graph .node').count()).toBe(5);
    await page.goto(`${url}/sagas#/overview?hours=1&saga=place-order`);
    await page.getByRole('row', { name: /place-order 2 1 1 0 50 %/ }).waitFor();
    await page.getByRole('row', { name: /chargeCard 2 1 50 %/ }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test.each([DESKTOP, PHONE])(
    'sees nothing overrun its column, whatever its state and its age',
    async (device) => {
      const { url } = await apps.start(SHOP);
      await apps.sql(
        `INSERT INTO saga.instance (id, name, version, correlation_id, status, step, error, epoch, created_at, updated_at, finished_at)
       SELECT gen_random_uuid(), 'place-order', 1, 'order-' || repeat('9', 40) || status, status, 'reserveStock', repeat('x', 200), 1,
         now() - interval '23 days 23 hours', now() - interval '22 hours 59 minutes 50 seconds', NULL
       FROM unnest($1::text[]) AS status`,
        [SAGA_STATUSES],
      );
      const { page } = await browser.visit(`${url}/sagas`, device);
      await until(async () => (await page.locator('a.row').count()) === SAGA_STATUSES.length);
      const overrunning = await page.evaluate<string[]>(
        `[...document.querySelectorAll('.sagas td')].flatMap((cell) => [...cell.children]
        .filter((child) => child.getBoundingClientRect().right > cell.getBoundingClientRect().right - parseFloat(getComputedStyle(cell).paddingRight) + 1)
        .map((child) => child.textContent))`,
      );
      expect(overrunning).toEqual([]);
    },
  );

  test('reads it on a phone without scrolling sideways', async () => {
    const { sagas, url } = await apps.start(SHOP);
    const id = await stuckOrder(sagas, `order-${'x'.repeat(200)}`);
    const { page } = await browser.visit(`${url}/sagas`, PHONE);
    await page.getByRole('heading', { name: '1 saga needs attention' }).waitFor();
    for (const hash of ['#/', `#/saga/${id}`, '#/overview', '#/definitions']) {
      await page.goto(`${url}/sagas${hash}`);
      await page.locator('main h1').waitFor({ state: 'attached' });
      await page.locator('main .panel, main .sagas, main .chart').first().waitFor();
      expect([hash, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([
        hash,
        390,
      ]);
    }
  });
});

inBrowser('what sagas hold can do no harm', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();

  @Saga({ name: MARKUP.slice(0, 60), redact: ['secret'], retry: { attempts: 1 } })
  class Hostile {
    @Step() take({ input }: StepContext<Record<string, string>>) {
      return input;
    }
    @Step() fail() {
      throw new StepRejectedError(MARKUP);
    }
  }

  test('markup in names, ids, tags, payloads, errors and reasons is shown as text', async () => {
    const { sagas, url } = await apps.start({ sagas: [Hostile], admin: { title: MARKUP } });
    const input = { [MARKUP]: MARKUP, secret: 'hunter2' };
    const handle = await sagas.start(Hostile, input, { correlationId: MARKUP, tags: { [MARKUP]: MARKUP } });
    await handle.outcome();
    const { page, wrongs } = await browser.visit(`${url}/sagas`);
    await page.getByRole('link', { name: MARKUP }).first().waitFor();
    const hashes = [
      '#/',
      `#/saga/${handle.id}`,
      '#/overview?hours=1',
      '#/definitions',
      `#/saga/${encodeURIComponent(MARKUP)}`,
    ];
    for (const hash of hashes) {
      await page.goto(`${url}/sagas${hash}`);
      await page.getByText('<img src=x').first().waitFor();
      expect(await page.locator('main img, main script').count()).toBe(0);
    }
    expect(await page.evaluate<unknown>('window.hurt')).toBeUndefined();
    expect(wrongs).toEqual([]);
  });

  test('redacted fields are not in the page, and the rest of the payload is', async () => {
    const { sagas, url } = await apps.start({ sagas: [Hostile] });
    const handle = await sagas.start(Hostile, { secret: 'hunter2', open: 'sesame' });
    await handle.outcome();
    const { page } = await browser.visit(`${url}/sagas#/saga/${handle.id}`);
    await page.getByRole('heading', { name: 'Input' }).waitFor();
    expect(await page.locator('main').textContent()).toContain('"open": "sesame"');
    expect(await page.content()).toContain('[redacted]');
    expect(await page.content()).not.toContain('hunter2');
  });
});

function focused(page: Page): Promise<string | null> {
  return page.evaluate<string | null>('document.activeElement?.textContent');
}
