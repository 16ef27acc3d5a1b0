import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, PHONE, TestBrowser } from './support/browser.js';
import { DOWN, GrantCreditSaga, order, PlaceOrderSaga, stuckOrder } from './support/shop.js';

/** `UPDATE_SCREENSHOTS=1` takes those of the documentation anew; a folder instead of 1: takes them there. */
const { UPDATE_SCREENSHOTS: asked } = process.env;
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
      ['saga', `#/saga/${id}`, { viewport: { width: 1280, height: 1000 } }],
      ['saga-dark', `#/saga/${id}`, { colorScheme: 'dark', viewport: { width: 1280, height: 1000 } }],
      ['overview', '#/overview?hours=1&saga=place-order', {}],
      ['overview-dark', '#/overview?hours=1', { colorScheme: 'dark' }],
      ['definitions', '#/definitions/place-order@1', {}],
      ['phone-sagas', '#/', PHONE],
      ['phone-saga', `#/saga/${id}`, { ...PHONE, colorScheme: 'dark' }],
      ['phone-overview', '#/overview?hours=1', PHONE],
    ] as const;
    for (const [name, hash, options] of views) {
      const { page } = await browser.visit(`${url}/sagas${hash}`, options);
      await settled(page);
      await page.screenshot({ path: join(FOLDER!, `${name}.png`) });
    }
    const { page } = await browser.visit(`${url}/sagas#/saga/${id}`, {
      viewport: { width: 1280, height: 760 },
    });
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByLabel('Why').fill('inventory is back');
    await page.getByLabel('Who you are').fill('Ada');
    await page.screenshot({ path: join(FOLDER!, 'retry.png') });
    const waiting = (await sagas.find({ saga: GrantCreditSaga })).items[0]!.id;
    const other = await browser.visit(`${url}/sagas#/saga/${waiting}`, {
      viewport: { width: 1280, height: 760 },
    });
    await settled(other.page);
    await other.page.screenshot({ path: join(FOLDER!, 'waiting.png') });
    await other.page.getByRole('button', { name: 'Cancel…' }).click();
    await other.page.getByText('want of a compensation').waitFor();
    await other.page.screenshot({ path: join(FOLDER!, 'cancel.png') });
    DOWN.clear();
  });
});

async function settled(page: Page): Promise<void> {
  await page.locator('.live[data-state=live], .definitions').first().waitFor();
  await page.locator('main .panel, main table').first().waitFor();
}
