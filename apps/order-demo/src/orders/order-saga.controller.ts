import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post, Query } from '@nestjs/common';
import { type SagaTimeline, toTimeline } from 'demo-support';
import { type Duration, SagaOperations, SagaService, type SagaTarget } from 'nestjs-durable-saga';
import { PlaceOrderSaga } from './place-order.saga.js';
import { ReasonDto, RetryDto, ResolveDto } from './operator.dto.js';

/** An order's saga: to look at, and for an operator to act on. The correlation id is the order's. */
@Controller('orders/:id/saga')
export class OrderSagaController {
  constructor(
    private readonly sagas: SagaService,
    private readonly operations: SagaOperations,
  ) {}

  /**
   * @param wait such as `10s`: answers once the saga has ended or needs an operator; 504 if that takes longer
   */
  @Get()
  async timeline(
    @Param('id', ParseUUIDPipe) id: string,
    @Query('wait') wait?: Duration,
  ): Promise<SagaTimeline> {
    if (wait) await this.sagas.wait(sagaOf(id), { timeout: wait });
    return toTimeline(await this.sagas.get(sagaOf(id)));
  }

  /** Retries the steps whose retries are exhausted. */
  @Post('retry')
  @HttpCode(202)
  async retry(@Param('id', ParseUUIDPipe) id: string, @Body() { step }: RetryDto): Promise<SagaTimeline> {
    await this.operations.retry(sagaOf(id), { step });
    return this.timeline(id);
  }

  /** Marks the failed step as done elsewhere. */
  @Post('resolve')
  @HttpCode(202)
  async resolve(
    @Param('id', ParseUUIDPipe) id: string,
    @Body() { step, reason }: ResolveDto,
  ): Promise<SagaTimeline> {
    await this.operations.resolve(sagaOf(id), step, { reason });
    return this.timeline(id);
  }

  /** Stops and undoes. */
  @Post('cancel')
  @HttpCode(202)
  async cancel(@Param('id', ParseUUIDPipe) id: string, @Body() { reason }: ReasonDto): Promise<SagaTimeline> {
    await this.sagas.cancel(sagaOf(id), { reason });
    return this.timeline(id);
  }

  /** Stops the saga without compensation. The caller has to clean up. */
  @Post('abort')
  @HttpCode(202)
  async abort(@Param('id', ParseUUIDPipe) id: string, @Body() { reason }: ReasonDto): Promise<SagaTimeline> {
    await this.operations.abort(sagaOf(id), { reason });
    return this.timeline(id);
  }
}

function sagaOf(orderId: string): SagaTarget {
  return { saga: PlaceOrderSaga, correlationId: orderId };
}
