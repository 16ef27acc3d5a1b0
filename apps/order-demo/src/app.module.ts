import { Module } from '@nestjs/common';
import { HttpModule } from 'demo-support';
import { SagaModule, type SagaModuleOptions } from 'nestjs-durable-saga';
import { SagaAdminModule } from 'nestjs-durable-saga-admin';
import { DASHBOARD_PATH } from './http/dashboard-path.js';
import { DatabaseModule } from './database/database.module.js';
import { readEnvironment } from './environment.js';
import { FaultsModule } from './faults/faults.module.js';
import { InventoryModule } from './inventory/inventory.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { ORM, OrmModule } from './orm/orm.module.js';
import type { Orm } from './orm/orm.js';
import { PaymentModule } from './payment/payment.module.js';
import { ShippingModule } from './shipping/shipping.module.js';

/** The whole application. Every process has all of it; whether it also runs sagas is up to its environment. */
@Module({
  imports: [
    DatabaseModule,
    SagaModule.forRootAsync({ imports: [OrmModule], inject: [ORM], useFactory: sagaOptions }),
    // No guards: in a demo that listens on this machine alone (main.ts). Anywhere else, any client could
    // cancel every order.
    SagaAdminModule.register({ path: DASHBOARD_PATH, guards: [], title: 'order demo' }),
    OrdersModule,
    InventoryModule,
    PaymentModule,
    ShippingModule,
    FaultsModule,
    HttpModule,
  ],
})
export class AppModule {}

async function sagaOptions({ database }: Orm): Promise<SagaModuleOptions> {
  const { worker, lease, compensationAttempts, engine, restate } = readEnvironment();
  return {
    database,
    engine:
      engine === 'restate' ? (await import('nestjs-durable-saga-restate')).restateEngine(restate) : undefined,
    worker: worker && { lease },
    compensationRetry: { attempts: compensationAttempts, delay: '200ms', maxDelay: '10s' },
  };
}
