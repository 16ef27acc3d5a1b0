import assert from 'node:assert/strict';
import { narrate, short, until } from 'demo-support';
import { holds, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const paymentStopped: Scenario = {
  title: 'The payment service is stopped: the saga waits, and goes on when it is back',
  async play(stage) {
    await stage.customers.put('edsger', 50_000);
    await stage.process('payment').stop();
    narrate('the payment service is stopped');
    const { id } = await stage.orders.place(someOrder('edsger', 20_000));
    const { status, waitingFor, heldBy } = await until('the saga waits for the payment', async () => {
      const saga = await stage.orders.saga(id);
      return saga.waitingFor?.includes('payment-reply') && saga;
    });
    narrate(`order ${short(id)}: ${status}, waiting for ${waitingFor}`);
    assert.equal(heldBy, undefined, 'It should hold no worker while it waits');
    await holds(stage, 'edsger', 20_000);
    await stage.start('payment');
    narrate('the payment service is back');
    await settlesAs(stage, id, 'approved');
  },
};
