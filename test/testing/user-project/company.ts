import { SagaTest } from 'nestjs-durable-saga/testing';
import { PaymentService, PlaceOrderSaga, StockService } from './place-order.saga.js';

export const reserved = new Set<string>();
export const charged = new Set<string>();

export function forget(): void {
  reserved.clear();
  charged.clear();
}

/** @param refunds whether the bank makes refunds */
export const placeOrder = ({ refunds = true } = {}) =>
  SagaTest.of(PlaceOrderSaga)
    .provide(StockService, {
      reserve: async (_sku: string, key: string) => (reserved.add(key), { id: key }),
      release: async (id: string) => void reserved.delete(id),
    })
    .provide(PaymentService, {
      charge: async (key: string) => (charged.add(key), { id: key }),
      refund: async (id: string) => void (refunds && charged.delete(id)),
    });

/** After each way to fail: all of it, or nothing. */
export async function allOrNothing(saga: ReturnType<typeof placeOrder>): Promise<string> {
  const report = await saga.everyFailure(
    { sku: 'tea' },
    ({ outcome }) => {
      const expected = outcome.status === 'completed' ? 1 : 0;
      if (reserved.size !== expected || charged.size !== expected)
        throw new Error(`${reserved.size} reserved and ${charged.size} charged, not ${expected}`);
    },
    { beforeEach: forget },
  );
  return String(report);
}
