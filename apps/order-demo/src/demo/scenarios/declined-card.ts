import { narrate, short } from 'demo-support';
import { endsAs, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const declinedCard: Scenario = {
  title: 'A declined card: no use in trying again, the stock goes back',
  async play(stage) {
    const order = await stage.orders.place(someOrder({ sku: 'office-chair', paymentToken: 'tok_declined' }));
    narrate(`order ${short(order.id)}, paid with a card that is declined`);
    await settlesAs(stage, order.id, 'compensated');
    return endsAs(stage, order.id, 'cancelled');
  },
};
