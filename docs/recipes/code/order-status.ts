import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Injectable,
  Module,
  Param,
  Post,
  Res,
  UseFilters,
} from '@nestjs/common';
import {
  type CompensationContext,
  Saga,
  SagaErrorFilter,
  SagaService,
  type SagaSnapshotOf,
  Step,
  type StepContext,
  StepRejectedError,
} from 'nestjs-durable-saga';

export interface Order {
  id: string;
  sku: string;
  cents: number;
}

@Injectable()
export class Shop {
  async reserve(_order: Order, key: string): Promise<{ reservation: string }> {
    return { reservation: key };
  }
  async release(_key: string): Promise<void> {}
  async charge({ cents }: Order, key: string): Promise<{ payment: string }> {
    if (cents > 1_000_00) throw new StepRejectedError('card declined');
    return { payment: key };
  }
  async ship(_order: Order, key: string): Promise<{ parcel: string }> {
    return { parcel: key };
  }
}

@Saga({ name: 'ordered' })
export class OrderedSaga {
  constructor(private readonly shop: Shop) {}

  @Step({ compensate: 'release' })
  reserve(ctx: StepContext<Order>): Promise<{ reservation: string }> {
    return this.shop.reserve(ctx.input, ctx.idempotencyKey);
  }
  release(ctx: CompensationContext<Order, { reservation: string }>): Promise<void> {
    return this.shop.release(ctx.idempotencyKey);
  }

  @Step({ pivot: true })
  charge(ctx: StepContext<Order>): Promise<{ payment: string }> {
    return this.shop.charge(ctx.input, ctx.idempotencyKey);
  }

  @Step({ retry: { attempts: 50, delay: '1m', maxDelay: '1h' } })
  ship(ctx: StepContext<Order>): Promise<{ parcel: string }> {
    return this.shop.ship(ctx.input, ctx.idempotencyKey);
  }
}

export type CustomerState = 'in-progress' | 'delayed' | 'confirmed' | 'declined' | 'cancelling' | 'cancelled';

/** What a customer may see: no names of steps, no messages of errors. */
export interface OrderStatus {
  readonly order: string;
  readonly state: CustomerState;
  readonly paid: boolean;
  readonly parcel?: string;
  /** The state is final. */
  readonly final: boolean;
}

export function statusOf(saga: SagaSnapshotOf<OrderedSaga>): OrderStatus {
  const step = (name: string) => saga.steps.find((one) => one.name === name);
  const shipped = step('ship')?.result as { parcel: string } | undefined;
  return {
    order: saga.correlationId,
    state: stateOf(saga),
    paid: step('charge')?.status === 'completed',
    ...(shipped && { parcel: shipped.parcel }),
    final: saga.finishedAt !== undefined,
  };
}

const A_MINUTE = 60_000;

function stateOf({ status, failure, waitingFor }: SagaSnapshotOf<OrderedSaga>): CustomerState {
  switch (status) {
    case 'running':
      // A retry is worth reporting if it is not soon. Waiting for a worker or a slot is not.
      return waitingFor?.kind === 'retry' && waitingFor.at.getTime() > Date.now() + A_MINUTE
        ? 'delayed'
        : 'in-progress';
    case 'stuck':
    case 'suspended':
    case 'paused':
      return 'delayed'; // an operator resolves it: the order may still be confirmed
    case 'completed':
      return 'confirmed';
    case 'compensating':
      return 'cancelling';
    case 'compensated':
      // 'rejected': a participant refused. 'error' and 'timeout' are our failures, 'cancelled' and 'undone' are requests.
      return failure?.kind === 'rejected' ? 'declined' : 'cancelled';
    case 'aborted':
      return 'cancelled';
  }
}

/** The part of the response that Express and Fastify share. */
interface Reply {
  header(name: string, value: string): void;
}

@Controller('orders')
@UseFilters(SagaErrorFilter)
export class OrderStatusController {
  constructor(private readonly sagas: SagaService) {}

  /** 202: stored, not completed. A repeated request returns the same order. */
  @Post()
  @HttpCode(202)
  async place(@Body() order: Order, @Res({ passthrough: true }) reply: Reply): Promise<OrderStatus> {
    await this.sagas.start(OrderedSaga, order, { correlationId: order.id });
    reply.header('location', `/orders/${order.id}`);
    return this.status(order.id, reply);
  }

  /** 200, whatever the state: the request for the status succeeded. */
  @Get(':id')
  async status(@Param('id') id: string, @Res({ passthrough: true }) reply: Reply): Promise<OrderStatus> {
    const status = statusOf(await this.sagas.get({ saga: OrderedSaga, correlationId: id }));
    reply.header('cache-control', 'no-store');
    if (!status.final) reply.header('retry-after', status.state === 'delayed' ? '60' : '2');
    return status;
  }

  /** 202: it will be compensated. 409: the card is charged, or is being charged. */
  @Delete(':id')
  @HttpCode(202)
  async cancel(@Param('id') id: string, @Res({ passthrough: true }) reply: Reply): Promise<OrderStatus> {
    await this.sagas.cancel({ saga: OrderedSaga, correlationId: id }, { reason: 'by the customer' });
    return this.status(id, reply);
  }
}

@Module({ controllers: [OrderStatusController], providers: [OrderedSaga, Shop] })
export class OrderStatusModule {}
