import { Module } from '@nestjs/common';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { DatabaseServer } from 'demo-support';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { CreateFaultTable } from '../faults/migrations/create-fault-table.js';
import { CreateInventoryTables } from '../inventory/migrations/create-inventory-tables.js';
import { CreateOrderTable } from '../orders/migrations/create-order-table.js';
import { CreatePaymentTables } from '../payment/migrations/create-payment-tables.js';
import { CreateShippingTables } from '../shipping/migrations/create-shipping-tables.js';
import { DatabaseServerModule } from './database-server.module.js';
import { migrate } from './migrate.js';
import { DEMO_SCHEMA } from './schema.js';

/**
 * The application's DataSource. The participants share a server here for convenience only: none of them reads
 * another's tables, and no transaction spans two of them. SagaModule finds the DataSource by itself.
 */
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      imports: [DatabaseServerModule],
      inject: [DatabaseServer],
      useFactory: dataSourceOptions,
      dataSourceFactory: connect,
    }),
  ],
})
export class DatabaseModule {}

function dataSourceOptions(server: DatabaseServer): TypeOrmModuleOptions {
  return {
    type: 'postgres',
    url: server.url,
    schema: DEMO_SCHEMA,
    applicationName: 'order-demo',
    autoLoadEntities: true,
    migrations: [
      CreateOrderTable,
      CreateInventoryTables,
      CreatePaymentTables,
      CreateShippingTables,
      CreateFaultTable,
    ],
    retryAttempts: 3,
  };
}

async function connect(options?: DataSourceOptions): Promise<DataSource> {
  const dataSource = await new DataSource(options!).initialize();
  await migrate(dataSource);
  return dataSource;
}
