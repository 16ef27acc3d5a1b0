import { settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const unknownCustomer: Scenario = {
  title: 'An unknown customer: refused, rather than waiting for ever',
  async play(stage) {
    const { id } = await stage.orders.place(someOrder('unknown', 1_000));
    await settlesAs(stage, id, 'rejected');
  },
};
