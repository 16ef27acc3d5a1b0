import { Module } from '@nestjs/common';
import { HttpModule } from 'demo-support';
import { SagaModule } from 'nestjs-durable-saga';
import { SagaMessagingModule } from 'nestjs-durable-saga-messaging';
import { publisherOf } from '../service/brokers.js';
import { databaseOf } from '../service/database.js';
import { readEnvironment } from '../service/environment.js';
import { HopsController } from '../service/hops.controller.js';
import { Receiver } from '../service/receiver.js';
import { CreateOrderTable } from './migrations/create-order-table.js';
import { Order } from './order.entity.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { PlaceOrderSaga } from './place-order.saga.js';
import { RepliesController } from './replies.controller.js';

/** Takes orders, and runs the sagas that place them. */
@Module({
  imports: [
    databaseOf('order', [Order], [CreateOrderTable]),
    SagaModule.forRootAsync({ useFactory: () => ({ worker: { lease: readEnvironment().lease } }) }),
    SagaMessagingModule.forRootAsync({ useFactory: publisherOf }),
    HttpModule,
  ],
  controllers: [OrdersController, RepliesController, HopsController],
  providers: [OrdersService, PlaceOrderSaga, Receiver],
})
export class OrderModule {}
