import assert from 'node:assert/strict';
import { narrate } from 'demo-support';
import { holds, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const tenOrders: Scenario = {
  title: 'Ten orders of 49.99 at once, within a limit of 500.00, pass; the eleventh is refused',
  async play(stage) {
    await stage.customers.put('barbara', 50_000);
    const placed = Array.from({ length: 10 }, () => stage.orders.place(someOrder('barbara', 4_999)));
    const sagas = await Promise.all(placed.map(async (order) => stage.orders.settled((await order).id)));
    const completed = sagas.filter(({ status }) => status === 'completed').length;
    narrate(`${completed} of ten orders, placed at once, are completed`);
    assert.equal(completed, 10);
    await holds(stage, 'barbara', 49_990);
    const eleventh = await stage.orders.place(someOrder('barbara', 4_999));
    await settlesAs(stage, eleventh.id, 'rejected');
    await holds(stage, 'barbara', 49_990);
  },
};
