import type { Page } from 'playwright-core';
import { SAGA_STATUSES } from '../../libs/saga/src/definition/types/saga-status.js';
import { until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';
import { DESKTOP, inBrowser, PHONE, TestBrowser } from './support/browser.js';
import { DOWN, GrantCreditSaga, order, PlaceOrderSaga, stuckOrder } from './support/shop.js';

const SHOP = { sagas: [PlaceOrderSaga, GrantCreditSaga] };

afterEach(() => DOWN.clear());

inBrowser('an operator who has only the dashboard', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();

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

function focused(page: Page): Promise<string | null> {
  return page.evaluate<string | null>('document.activeElement?.textContent');
}
