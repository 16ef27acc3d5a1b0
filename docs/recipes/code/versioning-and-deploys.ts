import { Injectable, Module } from '@nestjs/common';
import { type CompensationContext, Saga, Step, type StepContext, WaitFor } from 'nestjs-durable-saga';

export interface Order {
  id: string;
  cents: number;
}

@Injectable()
export class Shop {
  async charge(_order: Order, key: string): Promise<{ payment: string }> {
    return { payment: key };
  }
  async refund(_payment: string | undefined, _key: string): Promise<void> {}
  async pack(_order: Order, _key: string): Promise<void> {}
  async ship(_order: Order, _key: string): Promise<void> {}
}

/** The first deployed version. Keep it as long as instances of it run. */
@Saga({ name: 'order', version: 1 })
export class OrderV1Saga {
  constructor(protected readonly shop: Shop) {}

  @Step({ compensate: 'refund' })
  charge(ctx: StepContext<Order>): Promise<{ payment: string }> {
    return this.shop.charge(ctx.input, ctx.idempotencyKey);
  }
  refund(ctx: CompensationContext<Order, { payment: string }>): Promise<void> {
    return this.shop.refund(ctx.result?.payment, ctx.idempotencyKey);
  }

  @WaitFor({ signal: 'picked' })
  picked(_ctx: StepContext<Order>, shelf: { shelf: string }): { shelf: string } {
    return shelf;
  }

  @Step()
  ship(ctx: StepContext<Order>): Promise<void> {
    return this.shop.ship(ctx.input, ctx.idempotencyKey);
  }
}

/** With one more step. Instances of version 1 move if they have not shipped yet. */
@Saga({ name: 'order', version: 2, upgradeFrom: 1 })
export class OrderSaga {
  constructor(private readonly shop: Shop) {}

  @Step({ compensate: 'refund' })
  charge(ctx: StepContext<Order>): Promise<{ payment: string }> {
    return this.shop.charge(ctx.input, ctx.idempotencyKey);
  }
  refund(ctx: CompensationContext<Order, { payment: string }>): Promise<void> {
    return this.shop.refund(ctx.result?.payment, ctx.idempotencyKey);
  }

  @WaitFor({ signal: 'picked' })
  picked(_ctx: StepContext<Order>, shelf: { shelf: string }): { shelf: string } {
    return shelf;
  }

  @Step()
  pack(ctx: StepContext<Order>): Promise<void> {
    return this.shop.pack(ctx.input, ctx.idempotencyKey);
  }

  @Step()
  ship(ctx: StepContext<Order>): Promise<void> {
    return this.shop.ship(ctx.input, ctx.idempotencyKey);
  }
}

/** The providers of the first deploy. */
@Module({ providers: [Shop, OrderV1Saga] })
export class FirstDeployModule {}

/** The providers of the second deploy: both versions. */
@Module({ providers: [Shop, OrderV1Saga, OrderSaga] })
export class SecondDeployModule {}
