import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule } from 'nestjs-durable-saga';
import { LedgerEntry } from './ledger-entry.entity.js';
import { PlaceOrderSaga } from './place-order.saga.js';
import { StockService } from './stock.service.js';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      entities: [LedgerEntry],
      synchronize: true,
    }),
    SagaModule.forRoot({ worker: { shutdownTimeout: '20s', lease: '6s' } }),
  ],
  providers: [PlaceOrderSaga, StockService],
})
export class AppModule {}
