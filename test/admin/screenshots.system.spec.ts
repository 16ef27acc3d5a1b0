import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, PHONE, TestBrowser } from './support/browser.js';
import { DOWN, GrantCreditSaga, order, PlaceOrderSaga, stuckOrder } from './support/shop.js';

/** `UPDATE_SCREENSHOTS=1` takes those of the documentation anew; a folder instead of 1: takes all of them there. */
const { UPDATE_SCREENSHOTS: asked } = process.env;
const DOCUMENTED = ['sagas', 'saga', 'retry', 'overview-dark', 'phone-saga'];
const FOLDER = asked === '1' ? fileURLToPath(new URL('../../docs/images', import.meta.url)) : asked;

(FOLDER ? inBrowser : describe.skip)('the pictures of the documentation', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();

  test('are taken of a shop with a saga that is stuck', async () => {
    mkdirSync(FOLDER!, { recursive: true });
    const { sagas, url } = await apps.start({
      sagas: [PlaceOrderSaga, GrantCreditSaga],
      admin: { title: 'staging' },
    });
    await apps.sql(YESTERDAY);
    const done = await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const fails = n % 9 === 4 ? 'charge' : undefined;
        const tags = { tenant: n % 3 === 0 ? 'acme' : 'globex' };
        return sagas.start(PlaceOrderSaga, order({ fails }), { correlationId: `order-${1190 + n}`, tags });
      }),
    );
    await Promise.all(done.map((handle) => handle.outcome()));
    const id = await stuckOrder(sagas);
    for (const n of [71, 72]) await sagas.start(GrantCreditSaga, {}, { correlationId: `credit-${n}` });
    await (await sagas.start(PlaceOrderSaga, order(), { correlationId: 'order-1235' })).outcome();

    const views = [
      ['sagas', '#/', {}],
      ['sagas-dark', '#/', { colorScheme: 'dark' }],
      ['saga', `#/saga/${id}`, {}],
      ['saga-dark', `#/saga/${id}`, { colorScheme: 'dark', viewport: { width: 1280, height: 1000 } }],
      ['overview', '#/overview?hours=24&saga=place-order', {}],
      ['overview-dark', '#/overview', { colorScheme: 'dark' }],
      ['definitions', '#/definitions/place-order@1', {}],
      ['phone-sagas', '#/', PHONE],
      ['phone-saga', `#/saga/${id}`, { ...PHONE, colorScheme: 'dark' }],
      ['phone-overview', '#/overview', PHONE],
    ] as const;
    for (const [name, hash, options] of views) {
      const { page } = await browser.visit(`${url}/sagas${hash}`, options);
      await settled(page);
      await shoot(page, name);
    }
    const { page } = await browser.visit(`${url}/sagas#/saga/${id}`, {
      viewport: { width: 1280, height: 760 },
    });
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByLabel('Reason').fill('inventory is back');
    await page.getByLabel('Your name').fill('Ada');
    await shoot(page, 'retry');
    const waiting = (await sagas.find({ saga: GrantCreditSaga })).items[0]!.id;
    const other = await browser.visit(`${url}/sagas#/saga/${waiting}`, {
      viewport: { width: 1280, height: 760 },
    });
    await settled(other.page);
    await shoot(other.page, 'waiting');
    await other.page.getByRole('button', { name: 'Cancel…' }).click();
    await other.page.getByText('have no compensation').waitFor();
    await shoot(other.page, 'cancel');
    DOWN.clear();
  });
});

/** Orders of the last day: more by day than by night, and with a bad hour. */
const YESTERDAY = `
  INSERT INTO saga.instance (id, name, version, correlation_id, status, step, epoch, created_at, updated_at, finished_at)
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
    CASE WHEN n % 5 = 0 THEN 'grant-credit' ELSE 'place-order' END, 1, 'old-' || n,
    CASE WHEN n % 17 = 0 OR (hour BETWEEN 8 AND 9 AND n % 3 = 0) THEN 'compensated' WHEN n % 211 = 0 THEN 'aborted' ELSE 'completed' END,
    '', 1, at, at + took, at + took
  FROM (
    SELECT n, h AS hour, now() - h * interval '1 hour' - (n % 60) * interval '50 seconds' AS at,
      (120 + (n * 7919) % 400 + CASE WHEN h BETWEEN 8 AND 9 THEN 900 ELSE 0 END) * interval '1 millisecond' AS took
    FROM generate_series(1, 23) AS h, generate_series(h * 1000, h * 1000 + (60 + 50 * sin(h / 3.8))::int) AS n) AS orders`;

async function shoot(page: Page, name: string): Promise<void> {
  if (asked === '1' && !DOCUMENTED.includes(name)) return;
  await page.screenshot({ path: join(FOLDER!, `${name}.png`) });
}

async function settled(page: Page): Promise<void> {
  await page.locator('.live[data-state=live], .definitions').first().waitFor();
  await page.locator('main .panel, main table').first().waitFor();
}
