import { Saga, Step, type StepContext, StepRejectedError } from '../../libs/saga/src/index.js';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, TestBrowser } from './support/browser.js';

const MARKUP = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>';

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
