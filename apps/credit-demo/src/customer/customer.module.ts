import { Module } from '@nestjs/common';
import { HttpModule } from 'demo-support';
import { SagaMessagingModule } from 'nestjs-durable-saga-messaging';
import { publisherOf } from '../service/brokers.js';
import { databaseOf } from '../service/database.js';
import { HopsController } from '../service/hops.controller.js';
import { Receiver } from '../service/receiver.js';
import { CommandsController } from './commands.controller.js';
import { Credit } from './credit.entity.js';
import { CreditService } from './credit.service.js';
import { Customer } from './customer.entity.js';
import { CustomersController } from './customers.controller.js';
import { CreateCustomerTables } from './migrations/create-customer-tables.js';

/** Knows customers and their credit, and nothing of orders and sagas but the ids that come with messages. */
@Module({
  imports: [
    databaseOf('customer', [Customer, Credit], [CreateCustomerTables]),
    SagaMessagingModule.forRootAsync({ useFactory: publisherOf }),
    HttpModule,
  ],
  controllers: [CustomersController, CommandsController, HopsController],
  providers: [CreditService, Receiver],
})
export class CustomerModule {}
