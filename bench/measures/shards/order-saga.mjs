// The saga of the order demo: its input, its five steps and their results. Two steps are transactional and change the order in
// the database of the saga; the three participants in between answer at once, and from the same process.
import { randomBytes } from 'node:crypto';
import { addMethod } from '../sagas.mjs';
import { Saga, Step } from '../../../libs/saga/dist/index.js';

export const orderOf = (i) => ({
  orderId: `order-${i}`,
  sku: 'BOOK-1',
  quantity: 1,
  amount: 4_990,
  paymentToken: 'tok_visa',
  address: { name: 'Ada Lovelace', street: '12 St James’s Square', city: 'London', country: 'GB' },
});

const reference = (prefix) => `${prefix}_${randomBytes(8).toString('hex')}`;

export function orderSaga(name = 'order') {
  const type = { SagaOrder: class {} }.SagaOrder;
  const step = (key, method, options) => addMethod(type, key, method, Step(options));
  for (const key of ['cancelOrder', 'releaseStock', 'refund', 'cancelShipment'])
    addMethod(type, key, async () => {});
  step('openOrder', openOrder, { compensate: 'cancelOrder', transactional: true });
  step('reserveStock', async () => ({ reservationId: reference('res'), left: 41 }), {
    compensate: 'releaseStock',
  });
  step('chargeCard', async () => ({ paymentId: reference('pay'), charged: 4_990 }), {
    compensate: 'refund',
    timeout: '10s',
  });
  step('ship', async () => ({ trackingNumber: reference('trk'), parcels: 1 }), {
    compensate: 'cancelShipment',
    timeout: '10s',
    retry: { attempts: 4, delay: '250ms' },
  });
  step('confirmOrder', confirmOrder, { transactional: true });
  Saga({ name })(type);
  return type;
}

async function openOrder({ sagaId, transaction }) {
  await transaction.query({
    name: 'open-order',
    text: `INSERT INTO shop_order (id, status) VALUES ($1, 'processing')`,
    values: [sagaId],
  });
}

async function confirmOrder({ sagaId, transaction, results }) {
  await transaction.query({
    name: 'confirm-order',
    text: `UPDATE shop_order SET status = 'confirmed', tracking_number = $2 WHERE id = $1`,
    values: [sagaId, results.ship.trackingNumber],
  });
}
