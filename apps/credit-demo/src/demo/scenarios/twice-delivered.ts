import assert from 'node:assert/strict';
import { narrate, short, until } from 'demo-support';
import type { ReserveCredit } from '../../messages/customer-messages.js';
import { topic } from '../../messages/topics.js';
import { holds, settlesAs } from '../expectations.js';
import { type Scenario, someOrder } from '../scenario.js';

export const twiceDelivered: Scenario = {
  title: 'The same message delivered twice changes the limit once',
  async play(stage) {
    await stage.customers.put('niklaus', 50_000);
    const { id: orderId } = await stage.orders.place(someOrder('niklaus', 12_000));
    const { sagaId } = await settlesAs(stage, orderId, 'approved');
    const [first] = await stage.customers.hops(orderId);
    assert.equal(first?.type, 'reserve-credit');
    const command: ReserveCredit = {
      type: 'reserve-credit',
      payload: { orderId, customerId: 'niklaus', amount: 12_000 },
    };
    await stage.send({
      id: first.messageId,
      topic: topic('customer.commands', stage.prefix),
      key: sagaId,
      type: command.type,
      headers: { 'saga-id': sagaId, traceparent: first.traceparent! },
      payload: JSON.stringify(command.payload),
    });
    narrate(`the message ${short(first.messageId)}, which reserved the credit, is sent once more`);
    const again = await until('the message has come again', async () => {
      return (await stage.customers.hops(orderId))[1];
    });
    assert.deepEqual([again.messageId, again.handled], [first.messageId, false]);
    narrate('the customer service knows its id, and does nothing');
    await holds(stage, 'niklaus', 12_000);
  },
};
