import { until } from '../../../test/support/gate.js';
import { RecipeApps } from '../../recipes/code/recipe-apps.js';
import { OrderBoard, OrderModule, Orders, PlaceOrderSaga, Shop } from './nestjs-cqrs.js';

describe('what was a chain of events', () => {
  const apps = RecipeApps.onOwnDatabase();
  const open = async () => {
    const app = await apps.start({ module: { imports: [OrderModule] } });
    await apps.sql('CREATE TABLE IF NOT EXISTS placed_order (id text PRIMARY KEY, sku text, cents int)');
    return app;
  };
  const order = { id: 'order-1', sku: 'tea', cents: 100 };

  test('starts in the order’s own transaction, and can be read while it runs', async () => {
    const { nest, sagas } = await open();
    await nest.get(Orders).place(order);
    const target = { saga: PlaceOrderSaga, correlationId: order.id };
    expect((await sagas.wait(target, { timeout: '10s' })).status).toBe('completed');
    const board = nest.get(OrderBoard);
    await until(() => board.lines.length === 2);
    expect(board.lines).toEqual(['order-1: reserve', 'order-1: charge']);
  });

  test('goes on after a restart, where events in memory were gone', async () => {
    const before = await open();
    const shop = before.nest.get(Shop);
    shop.charge = async () => {
      throw new Error('the bank is down');
    };
    await before.nest.get(Orders).place({ ...order, id: 'order-2' });
    const target = { saga: PlaceOrderSaga, correlationId: 'order-2' };
    await until(async () => (await before.sagas.get(target)).steps[0]!.status === 'completed');
    await apps.close();

    const { sagas } = await open();
    expect((await sagas.wait(target, { timeout: '10s' })).status).toBe('completed');
  });
});
