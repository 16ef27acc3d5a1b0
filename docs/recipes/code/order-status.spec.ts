import { SagaTest } from 'nestjs-durable-saga/testing';
import { Gate, until } from '../../../test/support/gate.js';
import { OrderedSaga, OrderStatusModule, Shop, statusOf } from './order-status.js';
import { RecipeApps } from './recipe-apps.js';

const order = { id: 'order-1', sku: 'tea', cents: 20_00 };

describe('what a customer is shown', () => {
  const ordered = SagaTest.of(OrderedSaga).providers(Shop);

  test('of an order that is done, is its parcel', async () => {
    const { snapshot } = await ordered.run(order, { correlationId: order.id });
    expect(statusOf(snapshot)).toEqual({
      ...{ order: 'order-1', state: 'confirmed', paid: true, final: true },
      parcel: `${snapshot.id}:ship`,
    });
  });

  test('of a declined card, is not the error', async () => {
    const { snapshot } = await ordered.run({ ...order, cents: 5_000_00 });
    const shown = statusOf(snapshot);
    expect(shown).toMatchObject({ state: 'declined', paid: false, final: true });
    expect(JSON.stringify(shown)).not.toContain('card declined');
  });

  test('of a fault of ours before the payment, is that it is cancelled', async () => {
    const { snapshot } = await ordered.failing('charge').run(order);
    expect(snapshot.failure?.kind).toBe('error');
    expect(statusOf(snapshot)).toMatchObject({ state: 'cancelled', paid: false, final: true });
  });

  test('of shipping that needs an operator, is a delay, and that it is paid', async () => {
    const { snapshot } = await ordered.failing('ship').run(order);
    expect(snapshot.status).toBe('stuck');
    expect(statusOf(snapshot)).toMatchObject({ state: 'delayed', paid: true, final: false });
  });

  test('of an order that an operator has ended, is that it is cancelled', async () => {
    const run = await ordered.failing('ship').run(order, { correlationId: order.id });
    await run.operations.abort(run.id, { reason: 'refunded manually' });
    expect(statusOf(await run.sagas.get({ saga: OrderedSaga, correlationId: order.id }))).toMatchObject({
      state: 'cancelled',
      final: true,
    });
  });
});

describe('over HTTP', () => {
  const apps = RecipeApps.onOwnDatabase();
  const open = async () => {
    const { nest, url } = await apps.start({ module: { imports: [OrderStatusModule] } });
    const call = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, body: (await response.json()) as never };
    };
    return { shop: nest.get(Shop), call };
  };

  test('an order is accepted, is in progress, and is confirmed', async () => {
    const { shop, call } = await open();
    const gate = new Gate();
    shop.ship = async () => {
      await gate.opened;
      return { parcel: 'p-1' };
    };
    const placed = await call('POST', '/orders', order);
    expect([placed.status, placed.headers.get('location')]).toEqual([202, '/orders/order-1']);
    await until(async () => (await call('GET', '/orders/order-1')).body['paid']);
    const shown = await call('GET', '/orders/order-1');
    expect([shown.status, shown.headers.get('retry-after')]).toEqual([200, '2']);
    expect(shown.body).toEqual({ order: 'order-1', state: 'in-progress', paid: true, final: false });
    expect((await call('DELETE', '/orders/order-1')).status).toBe(409);
    gate.open();
    await until(async () => (await call('GET', '/orders/order-1')).body['final']);
    const done = await call('GET', '/orders/order-1');
    expect(done.body).toEqual({
      ...{ order: 'order-1', state: 'confirmed', paid: true, final: true },
      parcel: 'p-1',
    });
    expect(done.headers.get('retry-after')).toBeNull();
  });

  test('the same order again is the same, another one of its number is refused', async () => {
    const { call } = await open();
    const second = { ...order, id: 'order-2' };
    expect((await call('POST', '/orders', second)).status).toBe(202);
    expect((await call('POST', '/orders', second)).status).toBe(202);
    const other = await call('POST', '/orders', { ...second, cents: 1 });
    expect(other).toMatchObject({ status: 409, body: { code: 'SAGA_CONFLICT' } });
  });

  test('an order that nobody placed is not found', async () => {
    const { call } = await open();
    expect(await call('GET', '/orders/nothing')).toMatchObject({
      status: 404,
      body: { code: 'SAGA_NOT_FOUND' },
    });
  });

  test('an order that is not paid yet can be cancelled', async () => {
    const { shop, call } = await open();
    const gate = new Gate();
    shop.reserve = async () => {
      await gate.opened;
      return { reservation: 'r' };
    };
    await call('POST', '/orders', { ...order, id: 'order-3' });
    expect((await call('DELETE', '/orders/order-3')).status).toBe(202);
    gate.open();
    await until(async () => (await call('GET', '/orders/order-3')).body['final']);
    expect((await call('GET', '/orders/order-3')).body).toMatchObject({ state: 'cancelled', paid: false });
  });
});
