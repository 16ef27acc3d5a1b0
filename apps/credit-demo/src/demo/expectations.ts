import assert from 'node:assert/strict';
import { euros, type Json, narrate, printTimeline, type SagaTimeline, until } from 'demo-support';
import type { CreditStatus } from '../customer/credit.entity.js';
import type { OrderStatus } from '../order/order.entity.js';
import type { OrderView } from '../order/orders.service.js';
import type { DemoEnvironment } from './demo-environment.js';

/** Waits until the order's saga has ended, shows its timeline, and checks how it came out. */
export async function settlesAs(
  { orders }: DemoEnvironment,
  orderId: string,
  status: Exclude<OrderStatus, 'pending'>,
): Promise<Json<SagaTimeline>> {
  const timeline = await orders.settled(orderId);
  printTimeline(timeline);
  assert.equal(timeline.status, status === 'approved' ? 'completed' : 'compensated');
  await reads({ orders }, orderId, status);
  return timeline;
}

/** What the customer sees at the end. */
export async function reads(
  { orders }: Pick<DemoEnvironment, 'orders'>,
  orderId: string,
  status: OrderStatus,
): Promise<Json<OrderView>> {
  const order = await orders.order(orderId);
  const because = order.rejectedBecause ? `: ${order.rejectedBecause}` : '';
  narrate(`the order of ${euros(order.amount)} is ${order.status}${because}`);
  assert.equal(order.status, status, `The order ${orderId} should be ${status}`);
  return order;
}

/** How much of a customer's limit is reserved, and by nothing but the customer service's own word. */
export async function holds(
  { customers }: DemoEnvironment,
  customerId: string,
  reserved: number,
): Promise<void> {
  const customer = await customers.customer(customerId);
  narrate(`${customerId}: ${euros(customer.reserved)} of ${euros(customer.creditLimit)} are reserved`);
  assert.equal(customer.reserved, reserved, `${euros(reserved)} should be reserved for ${customerId}`);
}

/** The credit of an order, as the customer service shows it. */
export function creditBecomes(
  { customers }: DemoEnvironment,
  orderId: string,
  status: CreditStatus,
): Promise<unknown> {
  return until(`the credit of the order ${orderId} is ${status}`, async () => {
    return (await customers.credit(orderId)).status === status;
  });
}
