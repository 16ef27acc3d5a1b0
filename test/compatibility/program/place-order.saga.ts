import {
  type CompensationContext,
  Saga,
  type SagaService,
  Step,
  type StepContext,
  StepRejectedError,
  type TransactionalStepContext,
  WaitFor,
} from 'nestjs-durable-saga';
import { LedgerEntry } from './ledger-entry.entity.js';
import { StockService } from './stock.service.js';

export interface PlaceOrder {
  readonly orderId: string;
  readonly amount: number;
  /** How long (ms) shipping takes. */
  readonly shippingTakes?: number;
  readonly addressIsUnknown?: boolean;
}

/** How a payment was answered, by a signal. */
export interface PaymentReply {
  readonly payment: string;
}

/** A compensation, a transactional step, a signal, and a step that may refuse. */
@Saga({ retry: { attempts: 5, delay: '50ms' } })
export class PlaceOrderSaga {
  constructor(private readonly stock: StockService) {}

  @Step({ compensate: 'release' })
  reserve(ctx: StepContext<PlaceOrder>): Promise<string> {
    return this.stock.reserve(ctx.input.orderId, ctx.idempotencyKey);
  }

  async release(ctx: CompensationContext<PlaceOrder, string>): Promise<void> {
    await this.stock.release(ctx.input.orderId);
  }

  @Step({ transactional: true, compensate: 'unbook' })
  async book(ctx: TransactionalStepContext<PlaceOrder>): Promise<number> {
    const { orderId, amount } = ctx.input;
    await ctx.manager.insert(LedgerEntry, { orderId, amount });
    return amount;
  }

  async unbook(ctx: CompensationContext<PlaceOrder, number>): Promise<void> {
    await ctx.manager!.insert(LedgerEntry, { orderId: ctx.input.orderId, amount: -ctx.input.amount });
  }

  @WaitFor({ signal: 'payment-reply', timeout: '2m' })
  paid(_ctx: StepContext<PlaceOrder>, reply: PaymentReply): string {
    return reply.payment;
  }

  @Step()
  async ship(ctx: StepContext<PlaceOrder, PlaceOrderSaga>): Promise<string> {
    const { orderId, addressIsUnknown, shippingTakes = 0 } = ctx.input;
    if (addressIsUnknown) throw new StepRejectedError('unknown address');
    await new Promise((resolve) => setTimeout(resolve, shippingTakes));
    return `${orderId} paid by ${ctx.results.paid}`;
  }
}

/** Starts one; a payment's reply may be on its way already. */
export async function placeOrder(sagas: SagaService, order: PlaceOrder) {
  const handle = await sagas.start(PlaceOrderSaga, order, { correlationId: order.orderId });
  await sagas.signal(
    handle.id,
    'payment-reply',
    { payment: `p-${order.orderId}` },
    { messageId: order.orderId },
  );
  return handle;
}
