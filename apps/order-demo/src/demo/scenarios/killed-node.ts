import assert from 'node:assert/strict';
import { narrate, short, until } from 'demo-support';
import { endsAs, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

/** How long (ms) the bank takes. */
const SLOW = 2_000;

export const killedNode: Scenario = {
  title:
    'A node of Restate is killed in the middle of charging: the others go on, and the card is charged once',
  async play(stage) {
    const { orders, restate } = stage;
    await orders.break('payment', { mode: 'slow', operation: 'charge', delay: SLOW, times: 1 });
    const order = await orders.place(someOrder({ quantity: 3 }));
    narrate(`order ${short(order.id)}, while the bank is slow`);
    await until('the bank has charged the card', async () => (await orders.ledger(order.id)).length > 0);
    await restate!.kill();
    narrate('the bank has the money, and a node of the cluster is gone: kill -9');
    await settlesAs(stage, order.id, 'completed');
    const ledger = await orders.ledger(order.id);
    assert.deepEqual(
      ledger.map(({ amount }) => amount),
      [order.amount],
      'The card should have been charged once',
    );
    return endsAs(stage, order.id, 'confirmed');
  },
};
