import { narrate } from 'demo-support';
import { holds, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const creditLimit: Scenario = {
  title: 'A limit of 500.00: an order of 300.00 is accepted, a further one of 250.00 is rejected',
  async play(stage) {
    await stage.customers.put('ada', 50_000);
    const first = await stage.orders.place(someOrder('ada', 30_000));
    await settlesAs(stage, first.id, 'approved');
    const second = await stage.orders.place(someOrder('ada', 25_000));
    await settlesAs(stage, second.id, 'rejected');
    narrate('the refusal was an answer, committed by the customer service like any other');
    await holds(stage, 'ada', 30_000);
  },
};
