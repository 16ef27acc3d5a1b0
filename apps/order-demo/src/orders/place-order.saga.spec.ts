import { Saga } from 'nestjs-durable-saga';
import {
  type EveryFailureOptions,
  SagaFailureMatrixError,
  SagaTest,
  type SagaTestRun,
} from 'nestjs-durable-saga/testing';
import { InventoryService } from '../inventory/inventory.service.js';
import { OrderStore } from '../orm/orm.js';
import { AnswerLostError } from '../participant/participant-errors.js';
import { CardDeclinedError, PaymentService } from '../payment/payment.service.js';
import { ShippingService } from '../shipping/shipping.service.js';
import { PlaceOrderSaga } from './place-order.saga.js';

const input = {
  ...{ orderId: 'order-1', sku: 'tea', quantity: 2, amount: 500, paymentToken: 'tok_visa' },
  address: { name: 'Ada', street: '1 Engine Lane', city: 'Leiden', country: 'NL' },
};

/** Participants that keep what they have done by order, and do each request once, as the real ones do. */
class World {
  readonly reserved = new Set<string>();
  readonly charged = new Set<string>();
  readonly shipped = new Set<string>();
  order: Record<string, unknown> = {};

  readonly inventory = {
    reserve: async ({ orderId }: { orderId: string }) => {
      this.reserved.add(orderId);
      return { reservationId: 'r-1' };
    },
    release: async ({ orderId }: { orderId: string }) => this.reserved.delete(orderId),
  };
  readonly payments = {
    charge: async ({ orderId }: { orderId: string }) => {
      this.charged.add(orderId);
      return { paymentId: 'p-1' };
    },
    refund: async ({ orderId }: { orderId: string }) => this.charged.delete(orderId),
  };
  readonly shipping = {
    ship: async ({ orderId }: { orderId: string }) => {
      this.shipped.add(orderId);
      return { trackingNumber: 't-1' };
    },
    cancel: async ({ orderId }: { orderId: string }) => this.shipped.delete(orderId),
  };
  readonly orders = {
    change: async (_transaction: object, _id: string, change: object) => {
      this.order = { ...this.order, ...change };
    },
  };

  readonly forget: EveryFailureOptions = {
    beforeEach: () => {
      for (const done of [this.reserved, this.charged, this.shipped]) done.clear();
      this.order = {};
    },
  };

  get done() {
    return [this.reserved.size, this.charged.size, this.shipped.size];
  }
}

const testOf = (world: World, given: Partial<Record<'inventory' | 'payments' | 'shipping', object>> = {}) =>
  SagaTest.of(PlaceOrderSaga)
    .provide(InventoryService, { ...world.inventory, ...given.inventory })
    .provide(PaymentService, { ...world.payments, ...given.payments })
    .provide(ShippingService, { ...world.shipping, ...given.shipping })
    .provide(OrderStore, world.orders)
    .transaction({});

const allOrNothing = (world: World) => (run: SagaTestRun<PlaceOrderSaga>) => {
  const isPlaced = run.outcome.status === 'completed';
  expect(world.done).toEqual(isPlaced ? [1, 1, 1] : [0, 0, 0]);
  // One that was never opened is as it was.
  const opened = run.snapshot.steps.find(({ name }) => name === 'openOrder')!;
  const left = opened.status === 'failed' ? undefined : 'cancelled';
  expect(world.order.status).toBe(isPlaced ? 'confirmed' : left);
};

test('an order is placed by all of its participants, and confirmed', async () => {
  const world = new World();
  const run = await testOf(world).run(input);
  expect(run.trace).toEqual(['openOrder', 'reserveStock', 'chargeCard', 'ship', 'confirmOrder']);
  expect(world.order).toEqual({ status: 'confirmed', trackingNumber: 't-1' });
});

test('whatever fails, however often the process dies: all of it happens, or none', async () => {
  const world = new World();
  const report = await testOf(world).everyFailure(input, allOrNothing(world), world.forget);
  expect(report.points.length).toBeGreaterThan(30);
});

test('a declined card compensates the order immediately', async () => {
  const world = new World();
  const charge = () => Promise.reject(new CardDeclinedError('declined'));
  const run = await testOf(world, { payments: { charge } }).run(input);
  expect(run.calls.filter(({ method }) => method === 'chargeCard')).toHaveLength(1);
  expect(world.order).toMatchObject({ status: 'cancelled', cancelledBecause: 'declined' });
});

test('a parcel whose booking had no answer is cancelled, too', async () => {
  const world = new World();
  const ship = async (request: { orderId: string }) => {
    await world.shipping.ship(request);
    throw new AnswerLostError('the line went dead');
  };
  const run = await testOf(world, { shipping: { ship } }).run(input);
  expect(run.outcome.status).toBe('compensated');
  expect(world.done).toEqual([0, 0, 0]);
});

/** Each is found by the failure matrix at points that it names. */
describe('a bug in the order saga is found:', () => {
  const problemsOf = async (world: World, saga: SagaTest<PlaceOrderSaga>) => {
    const error: unknown = await saga.everyFailure(input, allOrNothing(world), world.forget).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(SagaFailureMatrixError);
    const { points } = (error as SagaFailureMatrixError).report;
    return points.filter(({ problem }) => problem !== undefined).map(({ name }) => name);
  };

  test('a refund that only runs with a recorded result', async () => {
    @Saga({ name: 'place-order' })
    class Planted extends PlaceOrderSaga {
      override async refund(ctx: Parameters<PlaceOrderSaga['refund']>[0] & { result?: unknown }) {
        if (ctx.result) await super.refund(ctx);
      }
    }
    const world = new World();
    expect(await problemsOf(world, planted(world, Planted))).toEqual([
      'chargeCard times out after its side effect',
    ]);
  });

  test('a refund that is kept back from a customer who cancels', async () => {
    @Saga({ name: 'place-order' })
    class Planted extends PlaceOrderSaga {
      override async refund(ctx: Parameters<PlaceOrderSaga['refund']>[0]) {
        if (ctx.failure.kind !== 'cancelled') await super.refund(ctx);
      }
    }
    const world = new World();
    expect(await problemsOf(world, planted(world, Planted))).toEqual([
      'cancelled while chargeCard runs',
      'cancelled while ship runs',
      'cancelled while confirmOrder runs',
    ]);
  });

  test('a compensation that swallows its failure', async () => {
    @Saga({ name: 'place-order' })
    class Planted extends PlaceOrderSaga {
      private calls = 0;
      override async releaseStock(ctx: Parameters<PlaceOrderSaga['releaseStock']>[0]) {
        this.calls += 1;
        if (this.calls % 2 === 1) return;
        await super.releaseStock(ctx);
      }
    }
    const world = new World();
    expect(await problemsOf(world, planted(world, Planted))).not.toEqual([]);
  });

  test('a charge that is made again under another key', async () => {
    const world = new World();
    const charge = async (request: { orderId: string }, { idempotencyKey }: { idempotencyKey: string }) => {
      void idempotencyKey;
      world.charged.add(`${request.orderId} ${world.charged.size}`);
      return { paymentId: 'p-1' };
    };
    const refund = async () => void world.charged.delete([...world.charged].at(-1) ?? '');
    const found = await problemsOf(world, testOf(world, { payments: { charge, refund } }));
    expect(found).toContain('chargeCard times out after its side effect');
    expect(found.some((name) => name.startsWith('the process crashes before checkpoint'))).toBe(true);
  });

  test('a carrier that never receives a cancellation', async () => {
    const world = new World();
    const found = await problemsOf(world, testOf(world, { shipping: { cancel: async () => undefined } }));
    expect(found).toContain('confirmOrder is rejected');
  });

  test('an order that stays open after its rollback', async () => {
    @Saga({ name: 'place-order' })
    class Planted extends PlaceOrderSaga {
      override async cancelOrder() {}
    }
    const world = new World();
    expect(await problemsOf(world, planted(world, Planted))).toContain('reserveStock is rejected');
  });

  function planted(world: World, saga: typeof PlaceOrderSaga) {
    return SagaTest.of(saga)
      .provide(InventoryService, world.inventory)
      .provide(PaymentService, world.payments)
      .provide(ShippingService, world.shipping)
      .provide(OrderStore, world.orders)
      .transaction({});
  }
});
