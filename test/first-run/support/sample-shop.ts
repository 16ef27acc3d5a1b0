const SAGAS = 'SagaModule.forRoot()';

/** TypeOrmModule as a newcomer writes it; that it tries nine times more is Nest's default, and tells nothing more. */
export const typeOrm = (options = ''): string =>
  `TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, retryAttempts: 1, retryDelay: 0, ${options} })`;

/** A program of one file: a module, a saga, and a start of it; that it has completed is what it prints. */
export function shop({ imports = [typeOrm(), SAGAS], after = '' } = {}): string {
  return `
    import { Inject, Injectable, Module } from '@nestjs/common';
    import { NestFactory } from '@nestjs/core';
    import { ScheduleModule } from '@nestjs/schedule';
    import { TypeOrmModule } from '@nestjs/typeorm';
    import { Saga, SagaModule, SagaService, Step } from 'nestjs-durable-saga';

    @Injectable()
    class StockService {
      reserve() {
        return 'reserved';
      }
    }

    @Saga()
    class PlaceOrderSaga {
      constructor(private readonly stock: StockService) {}
      @Step()
      reserveStock() {
        return this.stock.reserve();
      }
    }

    @Module({ imports: [${imports.join(', ')}], providers: [PlaceOrderSaga, StockService] })
    class AppModule {}

    const app = await NestFactory.createApplicationContext(AppModule);
    ${after}
    const order = await app.get(SagaService).start(PlaceOrderSaga, {});
    console.log('order', (await order.outcome({ timeout: '20s' })).status);
    await app.close();
  `;
}
