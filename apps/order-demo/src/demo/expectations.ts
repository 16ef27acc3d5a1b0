import assert from 'node:assert/strict';
import { type Json, narrate, printTimeline, type SagaTimeline } from 'demo-support';
import type { SagaStatus } from 'nestjs-durable-saga';
import type { Ending } from './scenario.js';
import type { DemoEnvironment } from './demo-environment.js';

/** Waits until the order's saga has ended or needs an operator, prints its timeline, and checks its status. */
export async function settlesAs(
  { orders }: DemoEnvironment,
  orderId: string,
  status: SagaStatus,
  after?: string,
): Promise<Json<SagaTimeline>> {
  const timeline = await orders.settled(orderId);
  printTimeline(timeline, after);
  assert.equal(timeline.status, status, `The saga of order ${orderId} should be ${status}`);
  return timeline;
}

/** What the customer sees at the end. */
export async function endsAs(
  { orders }: DemoEnvironment,
  orderId: string,
  status: Ending['status'],
): Promise<Ending> {
  const order = await orders.order(orderId);
  const because = order.cancelledBecause ? `: ${order.cancelledBecause}` : '';
  narrate(`the customer reads: ${order.status}${because}`);
  assert.equal(order.status, status, `Order ${orderId} should be ${status}`);
  return { orderId, sku: order.sku, quantity: order.quantity, amount: order.amount, status };
}
