import { Controller, Get, Query } from '@nestjs/common';
import { type Page, SagaService, type SagaSummary } from 'nestjs-durable-saga';
import { FindSagasDto } from './operator.dto.js';
import { PlaceOrderSaga } from './place-order.saga.js';

/** An operator's overview of all orders' sagas: `GET /sagas?status=stuck` is the list of work for people. */
@Controller('sagas')
export class SagasController {
  constructor(private readonly sagas: SagaService) {}

  /** Newest first; `next` of a page is the `cursor` of the page after it. */
  @Get()
  find(@Query() { status, cursor }: FindSagasDto): Promise<Page<SagaSummary>> {
    return this.sagas.find({ saga: PlaceOrderSaga, status, cursor });
  }
}
