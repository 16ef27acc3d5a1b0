import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { FaultsService } from '../faults/faults.service.js';
import type { Call } from '../participant/call.js';
import { handleOnce } from '../participant/handle-once.js';
import { insertFirst } from '../participant/insert-first.js';
import { RefusedError } from '../participant/participant-errors.js';
import { LedgerEntry } from './ledger-entry.entity.js';
import { PaymentRequest } from './payment-request.entity.js';
import { Payment } from './payment.entity.js';

export interface ChargeRequest {
  orderId: string;
  /** In cents. */
  amount: number;
  /** What a payment form gives instead of a card's number; `tok_declined` is declined. */
  paymentToken: string;
}

export interface Charged {
  paymentId: string;
}

export class CardDeclinedError extends RefusedError {
  override readonly name = 'CardDeclinedError';
}

/** The bank. Knows nothing of sagas: it charges, refunds, and does each request once. */
@Injectable()
export class PaymentService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly faults: FaultsService,
  ) {}

  /** Every movement of money for an order, oldest first. */
  ledger(orderId: string): Promise<LedgerEntry[]> {
    return this.dataSource.manager.find(LedgerEntry, { where: { orderId }, order: { id: 'ASC' } });
  }

  charge(request: ChargeRequest, { idempotencyKey, signal }: Call): Promise<Charged> {
    return this.faults.meet('payment', 'charge', signal, () =>
      handleOnce(this.dataSource, PaymentRequest, idempotencyKey, (manager) => collect(manager, request)),
    );
  }

  /**
   * A refund without a charge succeeds and pays nothing: a caller that lost the answer cannot know which it
   * is.
   */
  refund(request: { orderId: string }, { idempotencyKey, signal }: Call): Promise<object> {
    return this.faults.meet('payment', 'refund', signal, () =>
      handleOnce(this.dataSource, PaymentRequest, idempotencyKey, (manager) => payBack(manager, request)),
    );
  }
}

async function collect(manager: EntityManager, request: ChargeRequest): Promise<Charged> {
  const { orderId, amount, paymentToken } = request;
  if (paymentToken === 'tok_declined')
    throw new CardDeclinedError('the card was declined: insufficient funds');
  const paymentId = randomUUID();
  const first = await insertFirst(manager, Payment, { id: paymentId, orderId, amount, status: 'charged' });
  if (!first) throw new RefusedError(`order ${orderId} had a payment before`);
  await manager.insert(LedgerEntry, { orderId, amount });
  return { paymentId };
}

async function payBack(manager: EntityManager, { orderId }: { orderId: string }): Promise<object> {
  // If there is none yet, it is recorded as void: a charge still on its way comes too late.
  const none = { id: randomUUID(), orderId, amount: 0, status: 'void' } as const;
  if (await insertFirst(manager, Payment, none)) return { refunded: 0 };
  const payment = await manager.findOneOrFail(Payment, {
    where: { orderId },
    lock: { mode: 'pessimistic_write' },
  });
  if (payment.status !== 'charged') return { refunded: 0 };
  await manager.update(Payment, { orderId }, { status: 'refunded' });
  await manager.insert(LedgerEntry, { orderId, amount: -payment.amount });
  return { refunded: payment.amount };
}
