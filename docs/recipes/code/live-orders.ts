import { Controller, Get, Header, Injectable, Module, Param, Sse, UseFilters } from '@nestjs/common';
import {
  Saga,
  SagaErrorFilter,
  SagaService,
  type SagaSnapshotOf,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';
import { map, type Observable } from 'rxjs';

export interface Order {
  id: string;
  sku: string;
}

@Injectable()
export class Warehouse {
  async reserve(_order: Order, _key: string): Promise<void> {}
  /** @param packed is called with the number of items that are packed */
  async pack(_order: Order, packed: (items: number, of: number) => void): Promise<void> {
    packed(1, 1);
  }
}

@Saga({ name: 'live-order' })
export class LiveOrderSaga {
  constructor(private readonly warehouse: Warehouse) {}

  @Step()
  reserve(ctx: StepContext<Order>): Promise<void> {
    return this.warehouse.reserve(ctx.input, ctx.idempotencyKey);
  }

  @Step()
  pack(ctx: StepContext<Order>): Promise<void> {
    return this.warehouse.pack(ctx.input, (items, of) =>
      ctx.progress({ percent: (100 * items) / of, message: `${items} of ${of} items` }),
    );
  }
}

/** What the customer may see: no names of steps, no messages of errors. */
export interface LiveOrder {
  readonly state: 'in progress' | 'packing' | 'confirmed' | 'cancelled';
  readonly percent?: number;
  readonly final: boolean;
}

export function liveOrderOf({ status, steps, finishedAt }: SagaSnapshotOf<LiveOrderSaga>): LiveOrder {
  const pack = steps.find(({ name }) => name === 'pack');
  const isPacking = status === 'running' && pack?.progress !== undefined;
  const ended = status === 'completed' ? 'confirmed' : 'cancelled';
  return {
    state: finishedAt ? ended : isPacking ? 'packing' : 'in progress',
    ...(isPacking && { percent: pack.progress?.percent }),
    final: finishedAt !== undefined,
  };
}

@Controller('live-orders')
@UseFilters(SagaErrorFilter)
export class LiveOrdersController {
  constructor(private readonly sagas: SagaService) {}

  /** Server-sent events: the current state first, then each later one, until the order has ended. */
  @Sse(':id/events')
  async events(@Param('id') id: string): Promise<Observable<{ id: string; data: LiveOrder }>> {
    const target = { saga: LiveOrderSaga, correlationId: id };
    await this.sagas.get(target); // 404 if there is no such order
    return this.sagas.watch(target).pipe(map(({ id, data }) => ({ id, data: liveOrderOf(data) })));
  }

  @Get(':id')
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    return PAGE;
  }
}

const PAGE = `<!doctype html>
<title>Your order</title>
<h1>Your order</h1>
<p><output id="state">connecting</output> <progress id="packed" max="100" hidden></progress></p>
<script>
  const [state, packed] = [document.querySelector('#state'), document.querySelector('#packed')];
  const events = new EventSource(location.pathname + '/events');
  events.onmessage = ({ data }) => {
    const order = JSON.parse(data);
    state.textContent = order.state;
    packed.hidden = order.percent === undefined;
    packed.value = order.percent ?? 0;
    // The response ends with the order. An EventSource that is not closed connects again.
    if (order.final) events.close();
  };
</script>
`;

@Module({ controllers: [LiveOrdersController], providers: [LiveOrderSaga, Warehouse] })
export class LiveOrdersModule {}
