import type { Order, OrderStatus } from './order.entity.js';

/** An order as its customer sees it. */
export interface OrderView {
  readonly id: string;
  readonly sku: string;
  readonly quantity: number;
  /** In cents. */
  readonly amount: number;
  readonly status: OrderStatus;
  readonly cancelledBecause?: string;
  readonly trackingNumber?: string;
  readonly placedAt: Date;
}

export function toView(order: Order): OrderView {
  const { id, request, amount, status, cancelledBecause, trackingNumber, placedAt } = order;
  return {
    id,
    sku: request.sku,
    quantity: request.quantity,
    amount,
    status,
    cancelledBecause: cancelledBecause ?? undefined,
    trackingNumber: trackingNumber ?? undefined,
    placedAt,
  };
}
