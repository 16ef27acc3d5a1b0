import { StepRejectedError } from 'nestjs-durable-saga';
import { RecipeApps } from '../../recipes/code/recipe-apps.js';
import { LegacyOrder, OrderCron, Shop } from './hand-written.before.js';
import { OrderModule, PlaceOrderSaga, TakeOver } from './hand-written.js';

describe('taking over orders from a status column and a cron', () => {
  const apps = RecipeApps.onOwnDatabase();
  const open = async () => {
    const app = await apps.start({ module: { imports: [OrderModule] }, entities: [LegacyOrder] });
    await app.dataSource.manager.clear(LegacyOrder);
    const calls: string[] = [];
    const shop = app.nest.get(Shop, { strict: false });
    Object.assign(shop, {
      reserve: async (sku: string) => `reservation of ${(calls.push(`reserve ${sku}`), sku)}`,
      charge: async (cents: number) => `payment of ${(calls.push(`charge ${cents}`), cents)}`,
      ship: async (sku: string) => void calls.push(`ship ${sku}`),
      release: async (reservation?: string) => void calls.push(`release ${reservation}`),
      refund: async (payment?: string) => void calls.push(`refund ${payment}`),
    });
    return { ...app, calls, shop, manager: app.dataSource.manager };
  };
  const wait = (app: Awaited<ReturnType<typeof open>>, id: string) =>
    app.sagas.wait({ saga: PlaceOrderSaga, correlationId: id }, { timeout: '10s' });

  test('goes on from where each of them is, and does nothing twice', async () => {
    const app = await open();
    const cron = new OrderCron(app.dataSource, app.shop);
    await app.manager.insert(LegacyOrder, { id: 'charged', sku: 'tea', cents: 1 });
    await cron.tick();
    await app.manager.insert(LegacyOrder, { id: 'reserved', sku: 'mug', cents: 2 });
    await cron.tick();
    await app.manager.insert(LegacyOrder, { id: 'new', sku: 'pot', cents: 3 });
    app.calls.length = 0;

    expect(await app.nest.get(TakeOver).run()).toBe(3);
    for (const id of ['charged', 'reserved', 'new']) expect((await wait(app, id)).status).toBe('completed');
    expect(app.calls.sort()).toEqual([
      'charge 2',
      'charge 3',
      'reserve pot',
      'ship mug',
      'ship pot',
      'ship tea',
    ]);
    expect(await app.nest.get(TakeOver).run()).toBe(0);
  });

  test('compensates what the old code did, if the order fails now', async () => {
    const app = await open();
    const cron = new OrderCron(app.dataSource, app.shop);
    await app.manager.insert(LegacyOrder, { id: 'lost', sku: 'tea', cents: 1 });
    await cron.tick();
    await cron.tick();
    app.calls.length = 0;
    app.shop.ship = async () => {
      throw new StepRejectedError('the warehouse is gone');
    };
    await app.nest.get(TakeOver).run();
    expect((await wait(app, 'lost')).status).toBe('compensated');
    expect(app.calls).toEqual(['refund payment of 1', 'release reservation of tea']);
  });
});
