import { Injectable } from '@nestjs/common';
import { euros } from 'demo-support';
import type { EntityManager } from 'typeorm';
import type { CreditReply, ReleaseCredit, ReserveCredit } from '../messages/customer-messages.js';
import { Credit } from './credit.entity.js';
import { Customer } from './customer.entity.js';

/**
 * The rules of credit, in whichever transaction the caller is. They decide, and never throw for a business reason:
 * a refusal is stored and answered as a grant is, so that the same question has the same answer for ever.
 */
@Injectable()
export class CreditService {
  async reserve(manager: EntityManager, request: ReserveCredit['payload']): Promise<CreditReply> {
    const { orderId, customerId, amount } = request;
    const customer = await manager.findOne(Customer, {
      where: { id: customerId },
      lock: { mode: 'pessimistic_write' },
    });
    const before = await manager.findOneBy(Credit, { orderId });
    if (before) return toReply(before);
    const reason = refusal(customer, request);
    const credit: Credit = {
      ...{ orderId, customerId, amount },
      ...(reason === null ? { status: 'reserved', reason } : { status: 'refused', reason }),
    };
    await manager.insert(Credit, credit);
    if (reason === null) await manager.increment(Customer, { id: customerId }, 'reserved', amount);
    return toReply(credit);
  }

  async release(manager: EntityManager, { orderId }: ReleaseCredit['payload']): Promise<void> {
    const none = { orderId, customerId: null, amount: 0, status: 'void', reason: null } as const;
    await manager.createQueryBuilder().insert().into(Credit).values(none).orIgnore().execute();
    const { customerId } = await manager.findOneByOrFail(Credit, { orderId });
    // In the same order as above: the customer first.
    if (customerId !== null) {
      await manager.findOne(Customer, { where: { id: customerId }, lock: { mode: 'pessimistic_write' } });
    }
    const credit = await manager.findOneByOrFail(Credit, { orderId });
    if (credit.status !== 'reserved') return;
    await manager.update(Credit, { orderId }, { status: 'released' });
    await manager.decrement(Customer, { id: credit.customerId! }, 'reserved', credit.amount);
  }
}

function refusal(customer: Customer | null, { customerId, amount }: ReserveCredit['payload']): string | null {
  if (!customer) return `there is no customer ${customerId}`;
  const left = customer.creditLimit - customer.reserved;
  if (amount <= left) return null;
  return `${euros(amount)} is more than what is left of the credit limit, ${euros(left)}`;
}

function toReply({ orderId, status, reason }: Credit): CreditReply {
  if (status === 'reserved') return { orderId, granted: true };
  return { orderId, granted: false, reason: reason ?? 'the order was cancelled before' };
}
