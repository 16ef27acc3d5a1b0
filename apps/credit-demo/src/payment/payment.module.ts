import { Module } from '@nestjs/common';
import { HttpModule } from 'demo-support';
import { SagaMessagingModule } from 'nestjs-durable-saga-messaging';
import { publisherOf } from '../service/brokers.js';
import { databaseOf } from '../service/database.js';
import { HopsController } from '../service/hops.controller.js';
import { Receiver } from '../service/receiver.js';
import { CommandsController } from './commands.controller.js';
import { CreatePaymentTable } from './migrations/create-payment-table.js';
import { Payment } from './payment.entity.js';
import { PaymentService } from './payment.service.js';
import { PaymentsController } from './payments.controller.js';

/** Takes payments, and knows nothing of orders and sagas but the ids that come with messages. */
@Module({
  imports: [
    databaseOf('payment', [Payment], [CreatePaymentTable]),
    SagaMessagingModule.forRootAsync({ useFactory: publisherOf }),
    HttpModule,
  ],
  controllers: [PaymentsController, CommandsController, HopsController],
  providers: [PaymentService, Receiver],
})
export class PaymentModule {}
