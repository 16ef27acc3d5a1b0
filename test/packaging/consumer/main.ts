import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  type CompensationContext,
  Saga,
  SagaModule,
  SagaService,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';

interface Order {
  sku: string;
}

@Saga()
class PlaceOrderSaga {
  @Step({ compensate: 'release' })
  async reserve(ctx: StepContext<Order>): Promise<{ reserved: string }> {
    return { reserved: ctx.input.sku };
  }

  async release(_ctx: CompensationContext<Order, { reserved: string }>): Promise<void> {}

  @Step()
  async confirm(ctx: StepContext<Order, PlaceOrderSaga>): Promise<string> {
    return `confirmed ${ctx.results.reserve.reserved}`;
  }
}

@Module({
  imports: [TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }), SagaModule.forRoot()],
  providers: [PlaceOrderSaga],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const handle = await app.get(SagaService).start(PlaceOrderSaga, { sku: 'book' });
  const outcome = await handle.outcome({ timeout: '20s' });
  console.log(JSON.stringify({ status: outcome.status, confirm: outcome.results.confirm }));
  await app.close();
}

void main();
