import { Injectable, Module } from '@nestjs/common';
import { type CompensationContext, Saga, SagaService, Step, type StepContext } from 'nestjs-durable-saga';
import { DataSource, In } from 'typeorm';
import { LegacyOrder, Shop } from './hand-written.before.js';

export interface Order {
  id: string;
  sku: string;
  cents: number;
  /** The work that the old code had done before this saga started. Absent for new orders. */
  done?: { reservation?: string; payment?: string };
}

@Saga({ name: 'place-order', retry: { attempts: 5, delay: '5s', maxDelay: '5m' } })
export class PlaceOrderSaga {
  constructor(private readonly shop: Shop) {}

  @Step({ compensate: 'release', timeout: '10s' })
  async reserve(ctx: StepContext<Order>): Promise<string> {
    const { done, sku } = ctx.input;
    return done?.reservation ?? this.shop.reserve(sku, ctx.idempotencyKey);
  }
  release(ctx: CompensationContext<Order, string>): Promise<void> {
    return this.shop.release(ctx.result, ctx.idempotencyKey);
  }

  @Step({ compensate: 'refund', timeout: '10s' })
  async charge(ctx: StepContext<Order>): Promise<string> {
    const { done, cents } = ctx.input;
    return done?.payment ?? this.shop.charge(cents, ctx.idempotencyKey);
  }
  refund(ctx: CompensationContext<Order, string>): Promise<void> {
    return this.shop.refund(ctx.result, ctx.idempotencyKey);
  }

  @Step({ timeout: '10s' })
  ship(ctx: StepContext<Order>): Promise<void> {
    return this.shop.ship(ctx.input.sku, ctx.idempotencyKey);
  }
}

/** Takes over the orders of the old code, after it has stopped everywhere. It may be interrupted and run again. */
@Injectable()
export class TakeOver {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sagas: SagaService,
  ) {}

  async run(): Promise<number> {
    let moved = 0;
    while (await this.next()) moved += 1;
    return moved;
  }

  /** One row, and the start of its saga, in one transaction: both or neither. */
  private next(): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      const order = await manager.findOne(LegacyOrder, {
        where: { status: In(['new', 'reserved', 'charged']) },
        lock: { mode: 'pessimistic_write', onLocked: 'skip_locked' },
      });
      if (!order) return false;
      const { id, sku, cents, reservation, payment } = order;
      const done = { reservation: reservation ?? undefined, payment: payment ?? undefined };
      await this.sagas.start(PlaceOrderSaga, { id, sku, cents, done }, { manager, correlationId: id });
      await manager.update(LegacyOrder, { id }, { status: 'moved' });
      return true;
    });
  }
}

@Module({ providers: [Shop, PlaceOrderSaga, TakeOver] })
export class OrderModule {}
