import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { InventoryService, type Reserved } from '../inventory/inventory.service.js';
import { OrderStore } from '../orm/orm.js';
import { type Charged, PaymentService } from '../payment/payment.service.js';
import type { Address } from '../shipping/address.js';
import { ShippingService, type Shipped } from '../shipping/shipping.service.js';
import { answerOf } from './answer-of.js';

export interface PlaceOrder {
  orderId: string;
  sku: string;
  quantity: number;
  /** In cents. */
  amount: number;
  paymentToken: string;
  address: Address;
}

/**
 * Places an order with three participants that know nothing of each other, and either all of it happens or none.
 * The compensations ask by the order and not by `ctx.result`, which is missing when an answer was lost.
 */
@Saga({ name: 'place-order', version: 1 })
export class PlaceOrderSaga {
  constructor(
    private readonly inventory: InventoryService,
    private readonly payments: PaymentService,
    private readonly shipping: ShippingService,
    private readonly orders: OrderStore,
  ) {}

  /** Transactional: the order's status and the saga's checkpoint are committed together, or neither. */
  @Step({ compensate: 'cancelOrder', transactional: true })
  async openOrder({
    input,
    transaction,
  }: TransactionalStepContext<PlaceOrder, PlaceOrderSaga, object>): Promise<void> {
    await this.orders.change(transaction, input.orderId, { status: 'processing' });
  }

  /** First of the steps, so undone last: when the customer reads 'cancelled', the money is back. */
  async cancelOrder({
    input,
    transaction,
    failure,
  }: TransactionalCompensationContext<PlaceOrder, void, PlaceOrderSaga, object>): Promise<void> {
    const cancelledBecause = failure.error?.message ?? failure.reason ?? failure.kind;
    await this.orders.change(transaction, input.orderId, { status: 'cancelled', cancelledBecause });
  }

  @Step({ compensate: 'releaseStock' })
  reserveStock(ctx: StepContext<PlaceOrder>): Promise<Reserved> {
    const { orderId, sku, quantity } = ctx.input;
    return answerOf(this.inventory.reserve({ orderId, sku, quantity }, ctx));
  }

  async releaseStock(ctx: CompensationContext<PlaceOrder>): Promise<void> {
    const { orderId, sku } = ctx.input;
    await answerOf(this.inventory.release({ orderId, sku }, ctx));
  }

  @Step({ compensate: 'refund', timeout: '10s' })
  chargeCard(ctx: StepContext<PlaceOrder>): Promise<Charged> {
    const { orderId, amount, paymentToken } = ctx.input;
    return answerOf(this.payments.charge({ orderId, amount, paymentToken }, ctx));
  }

  async refund(ctx: CompensationContext<PlaceOrder>): Promise<void> {
    await answerOf(this.payments.refund({ orderId: ctx.input.orderId }, ctx));
  }

  // Short waits, so that the demo can show how they end; a real carrier deserves more patience.
  @Step({ compensate: 'cancelShipment', timeout: '10s', retry: { attempts: 4, delay: '250ms' } })
  ship(ctx: StepContext<PlaceOrder>): Promise<Shipped> {
    const { orderId, quantity, address } = ctx.input;
    return answerOf(this.shipping.ship({ orderId, parcels: quantity, address }, ctx));
  }

  async cancelShipment(ctx: CompensationContext<PlaceOrder>): Promise<void> {
    await answerOf(this.shipping.cancel({ orderId: ctx.input.orderId }, ctx));
  }

  @Step({ transactional: true })
  async confirmOrder(ctx: TransactionalStepContext<PlaceOrder, PlaceOrderSaga, object>): Promise<void> {
    const { trackingNumber } = ctx.results.ship;
    await this.orders.change(ctx.transaction, ctx.input.orderId, { status: 'confirmed', trackingNumber });
  }
}
