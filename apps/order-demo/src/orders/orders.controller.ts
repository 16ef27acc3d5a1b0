import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post } from '@nestjs/common';
import { IdempotencyKey } from './idempotency-key.decorator.js';
import { type OrderView, toView } from './order-view.js';
import { OrdersService } from './orders.service.js';
import { PlaceOrderDto } from './place-order.dto.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  /** Accepted, not done: the saga goes on from here, whatever happens to this process. */
  @Post()
  @HttpCode(202)
  async place(@Body() request: PlaceOrderDto, @IdempotencyKey() key: string | undefined): Promise<OrderView> {
    return toView(await this.orders.place(request, key));
  }

  @Get(':id')
  async get(@Param('id', ParseUUIDPipe) id: string): Promise<OrderView> {
    return toView(await this.orders.get(id));
  }
}
