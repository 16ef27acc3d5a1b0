import { Injectable, Module } from '@nestjs/common';
import { type CompensationContext, Saga, SagaService, Step, type StepContext } from 'nestjs-durable-saga';

export interface Order {
  id: string;
  sku: string;
  cents: number;
}

@Injectable()
export class Shop {
  async reserve(_sku: string, key: string): Promise<{ reservation: string }> {
    return { reservation: key };
  }
  async release(_reservation: string | undefined, _key: string): Promise<void> {}
  async charge(_cents: number, key: string): Promise<{ payment: string }> {
    return { payment: key };
  }
  async refund(_payment: string | undefined, _key: string): Promise<void> {}
  async ship(_sku: string, _reservation: string, _key: string): Promise<void> {}
}

@Saga({ name: 'place-order', limit: 100, retry: { attempts: 5, delay: '1s' } })
export class PlaceOrderSaga {
  constructor(private readonly shop: Shop) {}

  @Step({ compensate: 'release' })
  reserve(ctx: StepContext<Order>): Promise<{ reservation: string }> {
    return this.shop.reserve(ctx.input.sku, ctx.idempotencyKey);
  }
  release(ctx: CompensationContext<Order, { reservation: string }>): Promise<void> {
    return this.shop.release(ctx.result?.reservation, ctx.idempotencyKey);
  }

  /** At the same time as `reserve`, at most 50 a second over all processes. */
  @Step({ after: [], compensate: 'refund', rateLimit: { count: 50, per: '1s' } })
  charge(ctx: StepContext<Order>): Promise<{ payment: string }> {
    return this.shop.charge(ctx.input.cents, ctx.idempotencyKey);
  }
  refund(ctx: CompensationContext<Order, { payment: string }>): Promise<void> {
    return this.shop.refund(ctx.result?.payment, ctx.idempotencyKey);
  }

  @Step({ after: ['reserve', 'charge'] })
  ship(ctx: StepContext<Order, PlaceOrderSaga>): Promise<void> {
    const { reservation } = ctx.results.reserve;
    return this.shop.ship(ctx.input.sku, reservation, ctx.idempotencyKey);
  }
}

/** The used part of a BullMQ job that has not started: `delayed` or `waiting`, without children. */
export interface IdleJob {
  readonly id?: string;
  readonly data: Order;
  /** When it was added, in milliseconds since 1970. */
  readonly timestamp: number;
  readonly delay: number;
  remove(): Promise<void>;
}

@Injectable()
export class TakeOver {
  constructor(private readonly sagas: SagaService) {}

  /**
   * Moves one job: first the saga is stored, then the job is removed. After an interruption in between, call it again:
   * the correlation id finds the stored saga. Pause the queue first, so that no worker takes the job meanwhile.
   */
  async job(job: IdleJob): Promise<void> {
    const startAt = new Date(job.timestamp + job.delay);
    await this.sagas.start(PlaceOrderSaga, job.data, { correlationId: job.data.id, startAt });
    await job.remove();
  }
}

@Module({ providers: [Shop, PlaceOrderSaga, TakeOver] })
export class OrderModule {}
