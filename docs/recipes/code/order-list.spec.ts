import type { SagaService } from 'nestjs-durable-saga';
import { sagaEntities } from 'nestjs-durable-saga/database';
import { until } from '../../../test/support/gate.js';
import { ListedOrderSaga, Order, OrderListModule, Orders } from './order-list.js';
import { RecipeApps } from './recipe-apps.js';

const apps = RecipeApps.onOwnDatabase();
const goods = [
  { id: 'order-1', sku: 'tea', cents: 20_00 },
  { id: 'order-2', sku: 'piano', cents: 5_000_00 },
];

const start = async () => {
  const entities = [Order, ...sagaEntities()];
  const app = await apps.start({ module: { imports: [OrderListModule] }, entities });
  return { ...app, orders: app.nest.get(Orders, { strict: false }) };
};

const ended = (sagas: SagaService, count: number) =>
  until(
    async () =>
      (await sagas.find({ saga: ListedOrderSaga, status: ['completed', 'compensated'] })).items.length ===
      count,
  );

test('an order list shows each order with its saga and its steps, a page at a time', async () => {
  const { url, sagas, orders } = await start();
  for (const order of goods) {
    const body = JSON.stringify(order);
    await fetch(`${url}/orders`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  }
  await ended(sagas, 2);
  const [tea, piano] = (await (await fetch(`${url}/orders`)).json()) as Order[];
  expect(tea).toMatchObject({ id: 'order-1', saga: { status: 'completed', step: '' } });
  expect(piano).toMatchObject({
    id: 'order-2',
    saga: { status: 'compensated', failure: { kind: 'rejected', step: 'charge' } },
  });
  const steps = new Map(piano!.saga!.steps!.map((step) => [step.name, step]));
  expect(steps.get('reserve')).toMatchObject({ status: 'compensated', result: { shelf: 'shelf of piano' } });
  expect(steps.get('charge')).toMatchObject({ status: 'failed', attempts: 1 });
  expect(await orders.page(1, 1)).toMatchObject([{ id: 'order-2', saga: { steps: [{}, {}] } }]);
  expect(await orders.failedAt('charge')).toMatchObject([{ id: 'order-2' }]);
  expect(await orders.open()).toBe(0);
});

test('an order that is not stored has no saga', async () => {
  const { orders, dataSource } = await start();
  const before = await dataSource.query('SELECT FROM saga.instance');
  await expect(orders.place({ ...goods[0]!, cents: 0.5 })).rejects.toThrow();
  expect(await dataSource.query('SELECT FROM saga.instance')).toHaveLength(before.length);
});
