import assert from 'node:assert/strict';
import { narrate } from 'demo-support';
import { holds } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

const ORDERS = 20;

export const brokerDown: Scenario = {
  title: 'The broker is down while orders come in: none is lost',
  async play(stage) {
    const { broker } = stage;
    await stage.customers.put('alan', 1_000_000);
    // Some are on their way when it goes down.
    const before = await placeOrders(ORDERS / 2);
    await broker.takeDown();
    narrate(`the broker: ${broker.wayDown}, with ${ORDERS / 2} orders on their way`);
    const meanwhile = await placeOrders(ORDERS / 2);
    const seen = await Promise.all(meanwhile.map((id) => stage.orders.order(id)));
    assert(
      seen.every(({ status }) => status === 'pending'),
      'No answer should have come through',
    );
    narrate(`${meanwhile.length} orders come in, and are accepted: their messages wait in the outbox`);
    await broker.bringBack();
    narrate('the broker is back');
    const sagas = await Promise.all([...before, ...meanwhile].map((id) => stage.orders.settled(id)));
    const completed = sagas.filter(({ status }) => status === 'completed').length;
    narrate(`${completed} of ${ORDERS} orders are completed`);
    assert.equal(completed, ORDERS);
    await holds(stage, 'alan', ORDERS * 1_000);

    async function placeOrders(count: number): Promise<string[]> {
      const orders = Array.from({ length: count }, () => stage.orders.place(someOrder('alan', 1_000)));
      return (await Promise.all(orders)).map(({ id }) => id);
    }
  },
};
