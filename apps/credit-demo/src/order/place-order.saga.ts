import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
  WaitFor,
} from 'nestjs-durable-saga';
import type { CreditReply, ReleaseCredit, ReserveCredit } from '../messages/customer-messages.js';
import type { Card, PaymentReply, RefundPayment, RequestPayment } from '../messages/payment-messages.js';
import { CUSTOMER_COMMANDS, PAYMENT_COMMANDS } from '../messages/topics.js';
import { Order } from './order.entity.js';

export interface PlaceOrder {
  readonly orderId: string;
  readonly customerId: string;
  /** In cents. */
  readonly amount: number;
  readonly card: Card;
}

/**
 * Places an order with two services that are reached by messages only. What a step publishes is stored in the
 * commit
 * of its checkpoint; while the saga waits for the answer it is two rows in the database, and nothing else.
 */
@Saga({ name: 'place-order', version: 1 })
export class PlaceOrderSaga {
  /** Transactional: the order and the saga's checkpoint are committed together, or neither. */
  @Step({ compensate: 'rejectOrder', transactional: true })
  async writeOrder({ input, manager }: TransactionalStepContext<PlaceOrder>): Promise<void> {
    const { orderId: id, customerId, amount } = input;
    await manager.insert(Order, { id, customerId, amount, status: 'pending' });
  }

  /**
   * The first step is compensated last. When the customer reads 'rejected', the customer service has released the
   * credit, and the payment service has refunded the payment: both have confirmed it.
   */
  async rejectOrder({
    input,
    manager,
    failure,
  }: TransactionalCompensationContext<PlaceOrder>): Promise<void> {
    const rejectedBecause = failure.error?.message ?? failure.reason ?? failure.kind;
    await manager.update(Order, { id: input.orderId }, { status: 'rejected', rejectedBecause });
  }

  /**
   * Undone whatever the answer was, and even if there is none yet: the customer service knows what there is
   * to release.
   */
  @Step({ compensate: 'releaseCredit', compensationReply: { signal: 'credit-released' } })
  requestCredit(ctx: StepContext<PlaceOrder>): void {
    const { orderId, customerId, amount } = ctx.input;
    const command: ReserveCredit = { type: 'reserve-credit', payload: { orderId, customerId, amount } };
    ctx.publish({ topic: CUSTOMER_COMMANDS, ...command });
  }

  releaseCredit(ctx: CompensationContext<PlaceOrder>): void {
    const command: ReleaseCredit = { type: 'release-credit', payload: { orderId: ctx.input.orderId } };
    ctx.publish({ topic: CUSTOMER_COMMANDS, ...command });
  }

  @WaitFor({ signal: 'credit-reply' })
  creditReply(_ctx: StepContext<PlaceOrder>, reply: CreditReply): void {
    if (!reply.granted) throw new StepRejectedError(reply.reason);
  }

  @Step({ compensate: 'refundPayment', compensationReply: { signal: 'payment-refunded' } })
  requestPayment(ctx: StepContext<PlaceOrder>): void {
    const { orderId, amount, card } = ctx.input;
    const command: RequestPayment = { type: 'request-payment', payload: { orderId, amount, card } };
    ctx.publish({ topic: PAYMENT_COMMANDS, ...command });
  }

  refundPayment(ctx: CompensationContext<PlaceOrder>): void {
    const command: RefundPayment = { type: 'refund-payment', payload: { orderId: ctx.input.orderId } };
    ctx.publish({ topic: PAYMENT_COMMANDS, ...command });
  }

  @WaitFor({ signal: 'payment-reply' })
  paymentReply(_ctx: StepContext<PlaceOrder>, reply: PaymentReply): { paymentId: string } {
    if (!reply.paid) throw new StepRejectedError(reply.reason);
    return { paymentId: reply.paymentId };
  }

  @Step({ transactional: true })
  async approveOrder({ input, manager }: TransactionalStepContext<PlaceOrder>): Promise<void> {
    await manager.update(Order, { id: input.orderId }, { status: 'approved' });
  }
}
