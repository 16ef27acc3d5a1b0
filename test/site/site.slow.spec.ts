import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { DESKTOP, inBrowser, PHONE, TestBrowser } from '../admin/support/browser.js';
import { violationsOf } from '../support/axe.js';
import { brokenLinksOf } from './support/links.js';
import { SiteServer } from './support/site-server.js';

const SCHEMES = ['light', 'dark'] as const;
/** A page of each kind: prose, diagrams and code, wide tables, images, and the generated reference. */
const KINDS = [
  '/',
  '/getting-started.html',
  '/failures.html',
  '/options.html',
  '/operating.html',
  '/reference/index/classes/SagaService.html',
];

describe('The documentation site', () => {
  const site = SiteServer.ofThisBuild();

  test('has no broken internal link', async () => {
    expect(await brokenLinksOf(site.folder)).toEqual([]);
  });

  test('offers its pages to language models as Markdown', async () => {
    const index = await readFile(join(site.folder, 'llms.txt'), 'utf8');
    const links = [...index.matchAll(/\]\(\/([^)]+\.md)\)/g)].map(([, path]) => path!);
    expect(links.length).toBeGreaterThan(40);
    expect(links.filter((path) => !existsSync(join(site.folder, path)))).toEqual([]);
    expect(await readFile(join(site.folder, 'llms-full.txt'), 'utf8')).toContain('# Getting started');
  });

  test('shows the database layers of a recipe in tabs', async () => {
    const html = await readFile(join(site.folder, 'recipes/transactional-steps.html'), 'utf8');
    const groups = html.split('<div class="vp-code-group').slice(1);
    const labels = groups.map((group) =>
      [...group.matchAll(/<label[^>]*>([^<]+)<\/label>/g)].map(([, text]) => text),
    );
    const others = ['Drizzle', 'Kysely', 'Knex', 'MikroORM', 'Prisma', 'pg'];
    expect(labels).toEqual([others, ['TypeORM', ...others]]);
    expect(html).not.toMatch(/:::|<!-- tabs/);
  });

  inBrowser('in Chromium', () => {
    const browser = TestBrowser.open();

    test('leads from the home page to Getting started and on to Concepts', async () => {
      const { page, wrongs } = await browser.visit(site.url);
      await page.getByRole('link', { name: 'Get started' }).click();
      await page.getByRole('heading', { level: 1, name: 'Getting started' }).waitFor();
      await page.getByRole('navigation', { name: 'Sidebar' }).getByRole('link', { name: 'Concepts' }).click();
      await page.getByRole('heading', { level: 1, name: 'Concepts' }).waitFor();
      expect(wrongs).toEqual([]);
    });

    test('finds a page by an offline search', async () => {
      const { page, wrongs } = await browser.visit(site.url);
      await drawn(page);
      await page.keyboard.press('Control+k');
      await page.getByRole('searchbox').fill('changing keys');
      await page
        .locator('[role=option][aria-selected=true] a[href="/encryption.html#changing-keys"]')
        .waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Encrypt' }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/encryption.html');
      expect(wrongs).toEqual([]);
    });

    test('shows code with its file and a button that copies it', async () => {
      const { page, wrongs } = await browser.visit(`${site.url}/recipes/payments.html`);
      await drawn(page);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const block = page.locator('.vp-doc div.language-ts').first();
      expect(await block.locator('.code-file').textContent()).toMatch(/^payments[\w.]*\.ts$/);
      await block.hover();
      await block.getByRole('button', { name: /copy/i }).click();
      const copied = await page.evaluate<string>('navigator.clipboard.readText()');
      expect(copied.trim()).toBe((await block.locator('code').textContent())!.trim());
      const uncopied = await page.locator('.vp-doc div[class*="language-"]:not(:has(button.copy))').count();
      expect(uncopied).toBe(0);
      expect(wrongs).toEqual([]);
    });

    test.each(SCHEMES)('draws the diagrams of a page in %s colours', async (colorScheme) => {
      const { page, wrongs } = await browser.visit(`${site.url}/step-graph.html`, { colorScheme });
      await drawn(page);
      expect(await page.locator('.saga-diagram svg').count()).toBeGreaterThan(0);
      expect(await page.locator('pre.saga-diagram').count()).toBe(0);
      expect(wrongs).toEqual([]);
    });

    test('switches between light and dark, and remembers the choice', async () => {
      const { page, wrongs } = await browser.visit(`${site.url}/step-graph.html`);
      const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      const label = () => page.evaluate<string>('document.querySelector(".saga-diagram svg").outerHTML');
      await drawn(page);
      const light = [await background(), await label()];
      await page
        .getByRole('switch', { name: /dark theme/i })
        .first()
        .click();
      await page.waitForFunction(
        `document.querySelector(".saga-diagram svg").outerHTML !== ${JSON.stringify(light[1])}`,
      );
      expect(await background()).not.toBe(light[0]);
      await page.reload();
      await drawn(page);
      expect(await background()).not.toBe(light[0]);
      expect(wrongs).toEqual([]);
    });

    test('fits the width of a phone on every page of the guide', async () => {
      const { page, wrongs } = await browser.visit(site.url, PHONE);
      const wide: string[] = [];
      for (const path of await site.guide()) {
        await page.goto(`${site.url}${path}`);
        await drawn(page);
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        if (width > PHONE.viewport.width) wide.push(`${path}: ${width} px`);
      }
      expect(wide).toEqual([]);
      expect(wrongs).toEqual([]);
    }, 300_000);

    describe.each([
      ['desktop', DESKTOP],
      ['phone', PHONE],
    ])('on a %s', (_, device) => {
      test.each(SCHEMES)('has no accessibility violation in %s colours', async (colorScheme) => {
        const { page, wrongs } = await browser.visit(site.url, { ...device, colorScheme });
        const violations: object[] = [];
        for (const path of KINDS) {
          await page.goto(`${site.url}${path}`);
          await drawn(page);
          violations.push(...(await violationsOf(page)).map((violation) => ({ path, ...violation })));
        }
        expect(violations).toEqual([]);
        expect(wrongs).toEqual([]);
      });
    });
  });
});

/** Waits until the page is hydrated and each of its diagrams is drawn. */
async function drawn(page: Page): Promise<void> {
  await page.waitForFunction(
    'document.querySelector("#app")?.__vue_app__ !== undefined && !document.querySelector("pre.saga-diagram")',
  );
}
