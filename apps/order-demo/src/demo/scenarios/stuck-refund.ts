import assert from 'node:assert/strict';
import { narrate, short } from 'demo-support';
import { endsAs, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const stuckRefund: Scenario = {
  title: "A refund that keeps failing: the saga is stuck, and an operator's retry frees it",
  async play(stage) {
    const { orders } = stage;
    await orders.break('payment', { mode: 'failing', operation: 'refund' });
    const { address } = someOrder();
    const order = await orders.place(someOrder({ address: { ...address, city: 'McMurdo', country: 'AQ' } }));
    narrate(`order ${short(order.id)}, to where no carrier goes, while the bank takes no refunds`);
    const stuck = await settlesAs(stage, order.id, 'stuck');
    assert.equal(
      (await orders.order(order.id)).status,
      'processing',
      'The order should not be cancelled yet',
    );
    assert.deepEqual(await orders.stuck(), [order.id], 'An operator should find it');
    narrate('nothing is dropped: an operator finds it by GET /sagas?status=stuck');
    await orders.heal('payment');
    await orders.retry(order.id);
    narrate(`the bank is well again, and the operator says POST /orders/${short(order.id)}…/saga/retry`);
    await settlesAs(stage, order.id, 'compensated', stuck.events.at(-1)!.at);
    return endsAs(stage, order.id, 'cancelled');
  },
};
