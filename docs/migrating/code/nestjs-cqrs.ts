import { Injectable, Module } from '@nestjs/common';
import {
  type CompensationContext,
  type ObservedEvent,
  OnSagaEvent,
  Saga,
  SagaService,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';

export interface Order {
  id: string;
  sku: string;
  cents: number;
}

@Injectable()
export class Shop {
  async reserve(_sku: string, _key: string): Promise<void> {}
  async release(_sku: string, _key: string): Promise<void> {}
  async charge(_cents: number, key: string): Promise<{ payment: string }> {
    return { payment: key };
  }
}

/** The chain of events and commands, in one place and in order. */
@Saga({ name: 'place-order' })
export class PlaceOrderSaga {
  constructor(private readonly shop: Shop) {}

  @Step({ compensate: 'release' })
  reserve(ctx: StepContext<Order>): Promise<void> {
    return this.shop.reserve(ctx.input.sku, ctx.idempotencyKey);
  }
  release(ctx: CompensationContext<Order, void>): Promise<void> {
    return this.shop.release(ctx.input.sku, ctx.idempotencyKey);
  }

  @Step()
  charge(ctx: StepContext<Order>): Promise<{ payment: string }> {
    return this.shop.charge(ctx.input.cents, ctx.idempotencyKey);
  }
}

/** Replaces `eventBus.publish(new OrderPlacedEvent(order))`: the order and its saga, in one transaction. */
@Injectable()
export class Orders {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sagas: SagaService,
  ) {}

  async place(order: Order): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await manager.query('INSERT INTO placed_order (id, sku, cents) VALUES ($1, $2, $3)', [
        ...[order.id, order.sku, order.cents],
      ]);
      await this.sagas.start(PlaceOrderSaga, order, { manager, correlationId: order.id });
    });
  }
}

/** Replaces an `@EventsHandler` that only observes: it is called after the commit, at most once. */
@Injectable()
export class OrderBoard {
  readonly lines: string[] = [];

  @OnSagaEvent('step-completed', PlaceOrderSaga)
  show({ correlationId, step }: ObservedEvent<'step-completed'>): void {
    this.lines.push(`${correlationId}: ${step}`);
  }
}

@Module({ providers: [Shop, PlaceOrderSaga, Orders, OrderBoard] })
export class OrderModule {}
