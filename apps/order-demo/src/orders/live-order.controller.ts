import { Controller, Get, Header, Param, ParseUUIDPipe, Sse } from '@nestjs/common';
import { SagaService, type SagaSnapshotOf, type StepStatus } from 'nestjs-durable-saga';
import { map, type Observable } from 'rxjs';
import { LIVE_ORDER_PAGE } from './live-order.page.js';
import { PlaceOrderSaga } from './place-order.saga.js';

/** What the page shows of an order: nothing of its payment, its address and its errors. */
export interface LiveOrder {
  readonly state: 'in progress' | 'delayed' | 'confirmed' | 'cancelling' | 'cancelled';
  readonly steps: readonly { readonly name: string; readonly status: StepStatus }[];
  /** The state is final. */
  readonly final: boolean;
}

/** One order live, in the customer's page. */
@Controller('orders/:id')
export class LiveOrderController {
  constructor(private readonly sagas: SagaService) {}

  @Get('page')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header(
    'content-security-policy',
    "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; img-src data:",
  )
  page(@Param('id', ParseUUIDPipe) _id: string): string {
    return LIVE_ORDER_PAGE;
  }

  /** Server-sent events: the current state first, then each later one, until the order has ended. */
  @Sse('events')
  async events(@Param('id', ParseUUIDPipe) id: string): Promise<Observable<{ id: string; data: LiveOrder }>> {
    const target = { saga: PlaceOrderSaga, correlationId: id };
    // 404 if there is no such order.
    await this.sagas.get(target);
    return this.sagas
      .watch(target)
      .pipe(map((update) => ({ id: update.id, data: liveOrderOf(update.data) })));
  }
}

const STATES: Record<SagaSnapshotOf<PlaceOrderSaga>['status'], LiveOrder['state']> = {
  running: 'in progress',
  stuck: 'delayed',
  suspended: 'delayed',
  paused: 'delayed',
  completed: 'confirmed',
  compensating: 'cancelling',
  compensated: 'cancelled',
  aborted: 'cancelled',
};

function liveOrderOf({ status, steps, finishedAt }: SagaSnapshotOf<PlaceOrderSaga>): LiveOrder {
  return {
    state: STATES[status],
    steps: steps.map((step) => ({ name: step.name, status: step.status })),
    final: finishedAt !== undefined,
  };
}
