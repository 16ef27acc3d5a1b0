import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { PaymentReply, RefundPayment, RequestPayment } from '../messages/payment-messages.js';
import { Payment } from './payment.entity.js';

/**
 * The rules of payment, in whichever transaction the caller is. They decide, and never throw for a business reason:
 * a refusal is stored and answered as a payment is, so that the same question has the same answer for ever.
 */
@Injectable()
export class PaymentService {
  async pay(manager: EntityManager, request: RequestPayment['payload']): Promise<PaymentReply> {
    const { orderId, amount, card } = request;
    const reason = hasExpired(card.expires) ? `the card expired after ${card.expires}` : null;
    const status = reason === null ? 'paid' : 'refused';
    await insertFirst(manager, { id: randomUUID(), orderId, amount, status, reason });
    return toReply(await manager.findOneByOrFail(Payment, { orderId }));
  }

  async refund(manager: EntityManager, { orderId }: RefundPayment['payload']): Promise<void> {
    await insertFirst(manager, { id: randomUUID(), orderId, amount: 0, status: 'void', reason: null });
    await manager.update(Payment, { orderId, status: 'paid' }, { status: 'refunded' });
  }
}

/** Unless the order has one. Two transactions at the same time: the second waits here for the first. */
async function insertFirst(manager: EntityManager, payment: Payment): Promise<void> {
  await manager.createQueryBuilder().insert().into(Payment).values(payment).orIgnore().execute();
}

/** @param expires the last month, such as `2031-05` */
function hasExpired(expires: string): boolean {
  return expires < new Date().toISOString().slice(0, 7);
}

function toReply({ orderId, id, status, reason }: Payment): PaymentReply {
  if (status === 'paid') return { orderId, paid: true, paymentId: id };
  return { orderId, paid: false, reason: reason ?? 'the order was cancelled before' };
}
