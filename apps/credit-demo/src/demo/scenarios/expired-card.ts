import { creditBecomes, holds, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const expiredCard: Scenario = {
  title: 'An expired card: the credit is released, and the order cancelled',
  async play(stage) {
    await stage.customers.put('grace', 50_000);
    const card = { token: 'tok_visa', expires: '2020-01' };
    const { id } = await stage.orders.place({ ...someOrder('grace', 30_000), card });
    await settlesAs(stage, id, 'rejected');
    await creditBecomes(stage, id, 'released');
    await holds(stage, 'grace', 0);
  },
};
