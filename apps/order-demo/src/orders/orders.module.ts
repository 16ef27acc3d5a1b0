import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InventoryModule } from '../inventory/inventory.module.js';
import { OrmModule } from '../orm/orm.module.js';
import { PaymentModule } from '../payment/payment.module.js';
import { ShippingModule } from '../shipping/shipping.module.js';
import { LiveOrderController } from './live-order.controller.js';
import { Order } from './order.entity.js';
import { OrderSagaController } from './order-saga.controller.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { PlaceOrderSaga } from './place-order.saga.js';
import { SagasController } from './sagas.controller.js';

@Module({
  imports: [TypeOrmModule.forFeature([Order]), OrmModule, InventoryModule, PaymentModule, ShippingModule],
  controllers: [OrdersController, OrderSagaController, LiveOrderController, SagasController],
  providers: [OrdersService, PlaceOrderSaga],
})
export class OrdersModule {}
