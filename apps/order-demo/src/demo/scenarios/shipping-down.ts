import assert from 'node:assert/strict';
import { narrate, short } from 'demo-support';
import { endsAs, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const shippingDown: Scenario = {
  title: 'Shipping is down until the retries run out: refunded, and the stock goes back',
  async play(stage) {
    await stage.orders.break('shipping', { mode: 'failing' });
    const order = await stage.orders.place(someOrder({ sku: 'desk-lamp', quantity: 3 }));
    narrate(`order ${short(order.id)}, while the carrier cannot be reached`);
    const { events } = await settlesAs(stage, order.id, 'compensated');
    const attempts = events.filter(({ step, error }) => step === 'ship' && error);
    assert.equal(attempts.length, 4, 'Shipping should have been tried four times');
    await stage.orders.heal('shipping');
    return endsAs(stage, order.id, 'cancelled');
  },
};
