import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post, Query } from '@nestjs/common';
import { type SagaTimeline, toTimeline } from 'demo-support';
import { type Duration, SagaService } from 'nestjs-durable-saga';
import { type OrderView, OrdersService } from './orders.service.js';
import { PlaceOrderDto } from './place-order.dto.js';
import { PlaceOrderSaga } from './place-order.saga.js';

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly sagas: SagaService,
  ) {}

  /** Accepted, not done: the saga goes on from here, whatever happens to this process. */
  @Post()
  @HttpCode(202)
  place(@Body() request: PlaceOrderDto): Promise<OrderView> {
    return this.orders.place(request);
  }

  @Get(':id')
  get(@Param('id', ParseUUIDPipe) id: string): Promise<OrderView> {
    return this.orders.get(id);
  }

  /**
   * What has happened to it, and what it waits for.
   * @param wait such as `10s`: answers once the saga has ended or needs an operator; 504 if that takes longer
   */
  @Get(':id/saga')
  async timeline(
    @Param('id', ParseUUIDPipe) id: string,
    @Query('wait') wait?: Duration,
  ): Promise<SagaTimeline> {
    const target = { saga: PlaceOrderSaga, correlationId: id };
    if (wait) await this.sagas.wait(target, { timeout: wait });
    return toTimeline(await this.sagas.get(target));
  }
}
