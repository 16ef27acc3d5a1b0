import assert from 'node:assert/strict';
import { narrate, short } from 'demo-support';
import { endsAs, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const completedOrder: Scenario = {
  title: 'An order that completes',
  async play(stage) {
    const key = 'the-first-order';
    const order = await stage.orders.place(someOrder(), key);
    const again = await stage.orders.place(someOrder(), key);
    assert.equal(again.id, order.id, 'The same Idempotency-Key should be the same order');
    narrate(`order ${short(order.id)}: POSTed twice with one Idempotency-Key, and one order`);
    await settlesAs(stage, order.id, 'completed');
    return endsAs(stage, order.id, 'confirmed');
  },
};
