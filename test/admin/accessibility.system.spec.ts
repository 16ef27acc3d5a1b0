import type { BrowserContextOptions, Page } from 'playwright-core';
import { Saga, Step, SubSaga } from '../../libs/saga/src/index.js';
import { violationsOf } from '../support/axe.js';
import { AdminApps } from './support/admin-apps.js';
import { inBrowser, PHONE, TestBrowser } from './support/browser.js';
import { DOWN, GrantCreditSaga, order, PlaceOrderSaga, stuckOrder } from './support/shop.js';

const DEVICES: Record<string, BrowserContextOptions> = { desktop: {}, phone: PHONE };
const SCHEMES = ['light', 'dark'] as const;

@Saga({ name: 'travel', sla: 1 })
class TravelSaga {
  @SubSaga(() => GrantCreditSaga) credit() {
    return {};
  }
  @Step() book() {}
}

/** A view of the dashboard: its address, and how to get from there to what is looked at. */
type View = readonly [name: string, hash: string, open?: (page: Page) => Promise<void>];

inBrowser('an operator who cannot see well, or who uses a screen reader', () => {
  const apps = AdminApps.onOwnDatabase();
  const browser = TestBrowser.open();
  let url: string;
  let views: readonly View[];

  afterEach(() => DOWN.clear());

  beforeEach(async () => {
    const app = await apps.start({
      sagas: [PlaceOrderSaga, GrantCreditSaga, TravelSaga],
      admin: { title: 'staging' },
    });
    url = `${app.url}/sagas`;
    views = await viewsOf(app);
  });

  describe.each(Object.keys(DEVICES))('on a %s', (device) => {
    test.each(SCHEMES)('finds no barrier in any view, in the %s colours', async (colorScheme) => {
      const { page, wrongs } = await browser.visit(url, { ...DEVICES[device], colorScheme });
      const violations: unknown[] = [];
      for (const [name, hash, open] of views) {
        // From an empty page: the same address again would load nothing.
        await page.goto('about:blank');
        await page.goto(`${url}${hash}`);
        await page.locator('main :is(.panel, table, .chart, .empty, .notice)').first().waitFor();
        await open?.(page);
        violations.push(...(await violationsOf(page)).map((barrier) => ({ view: name, ...barrier })));
      }
      expect(violations).toEqual([]);
      expect(wrongs).toEqual([]);
    });
  });

  /** A shop in which each state of a saga can be seen. */
  async function viewsOf({
    sagas,
    operations,
  }: Pick<Awaited<ReturnType<AdminApps['start']>>, 'sagas' | 'operations'>): Promise<View[]> {
    const stuck = await stuckOrder(sagas);
    for (const fails of [undefined, 'charge'] as const)
      await (await sagas.start(PlaceOrderSaga, order({ fails }), { tags: { tenant: 'acme' } })).outcome();
    const waiting = await sagas.start(GrantCreditSaga, {});
    const travel = await sagas.start(TravelSaga, {});
    const paused = await sagas.start(GrantCreditSaga, {});
    await operations.pause(paused.id, { by: 'ada', reason: 'the bureau is down' });
    const stopped = await sagas.start(GrantCreditSaga, {});
    await operations.abort(stopped.id, { by: 'ada', reason: 'sent twice' });
    const completed = (await sagas.find({ saga: PlaceOrderSaga, status: 'completed' })).items[0]!.id;
    const dialog = (button: string) => async (page: Page) => {
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('dialog').waitFor();
    };
    return [
      ['list', '#/'],
      ['list, filtered', '#/?saga=grant-credit&tag=tenant:acme'],
      ['list, nothing found', '#/?search=nothing'],
      ['stuck saga', `#/saga/${stuck}`],
      ['waiting saga', `#/saga/${waiting.id}`],
      ['overdue saga with a sub-saga', `#/saga/${travel.id}`],
      ['paused saga', `#/saga/${paused.id}`],
      ['aborted saga', `#/saga/${stopped.id}`],
      ['completed saga', `#/saga/${completed}`],
      ['no such saga', '#/saga/00000000-0000-7000-8000-000000000000'],
      ['overview', '#/overview?hours=1&saga=place-order'],
      ['definitions', '#/definitions/place-order@1'],
      ['dialog: retry', `#/saga/${stuck}`, dialog('Retry')],
      ['dialog: resolve', `#/saga/${stuck}`, dialog('Resolve…')],
      ['dialog: abort', `#/saga/${stuck}`, dialog('Abort…')],
      ['dialog: cancel', `#/saga/${waiting.id}`, dialog('Cancel…')],
      ['dialog: signal', `#/saga/${waiting.id}`, dialog('Signal…')],
      ['dialog: undo', `#/saga/${completed}`, dialog('Undo…')],
      ['dialog: bulk', '#/?saga=grant-credit', dialog('Bulk action…')],
      ['dialog: keys', '#/', (page) => page.keyboard.press('?')],
    ];
  }
});
