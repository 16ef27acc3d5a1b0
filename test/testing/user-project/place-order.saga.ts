import { Injectable } from '@nestjs/common';
import { type CompensationContext, Saga, Step, type StepContext } from 'nestjs-durable-saga';

@Injectable()
export class StockService {
  async reserve(_sku: string, _key: string): Promise<{ id: string }> {
    throw new Error('calls the warehouse');
  }
  async release(_id: string): Promise<void> {}
}

@Injectable()
export class PaymentService {
  async charge(_key: string): Promise<{ id: string }> {
    throw new Error('calls the bank');
  }
  async refund(_id: string): Promise<void> {}
}

@Saga({ name: 'place-order' })
export class PlaceOrderSaga {
  constructor(
    private readonly stock: StockService,
    private readonly payments: PaymentService,
  ) {}

  @Step({ compensate: 'releaseStock', retry: { attempts: 3, delay: '1h' } })
  reserveStock(ctx: StepContext<{ sku: string }>) {
    return this.stock.reserve(ctx.input.sku, ctx.idempotencyKey);
  }

  async releaseStock(ctx: CompensationContext<{ sku: string }, { id: string }>) {
    await this.stock.release(ctx.result?.id ?? `${ctx.sagaId}:reserveStock`);
  }

  @Step({ compensate: 'refund', timeout: '10s', retry: { attempts: 1 } })
  charge(ctx: StepContext<{ sku: string }>) {
    return this.payments.charge(ctx.idempotencyKey);
  }

  async refund(ctx: CompensationContext<{ sku: string }, { id: string }>) {
    await this.payments.refund(ctx.result?.id ?? `${ctx.sagaId}:charge`);
  }
}
