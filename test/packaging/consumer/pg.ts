import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Saga, SagaModule, SagaService, Step, type TransactionalStepContext } from 'nestjs-durable-saga';
import { pgDatabase } from 'nestjs-durable-saga/pg';
import { Pool, type PoolClient } from 'pg';

interface Order {
  sku: string;
}

@Saga()
class PlaceOrderSaga {
  @Step({ transactional: true })
  async reserve(ctx: TransactionalStepContext<Order, unknown, PoolClient>): Promise<string> {
    await ctx.transaction.query('INSERT INTO reservation VALUES ($1)', [ctx.input.sku]);
    return ctx.input.sku;
  }
}

const pool = new Pool({ connectionString: process.env.DATABASE_URL });

@Module({
  imports: [SagaModule.forRoot({ database: pgDatabase(pool) })],
  providers: [PlaceOrderSaga],
})
class AppModule {}

async function main(): Promise<void> {
  await pool.query('CREATE TABLE IF NOT EXISTS reservation (sku text)');
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const client = await pool.connect();
  await client.query('BEGIN');
  const handle = await app.get(SagaService).start(PlaceOrderSaga, { sku: 'book' }, { transaction: client });
  await client.query('COMMIT');
  client.release();
  const outcome = await handle.outcome({ timeout: '20s' });
  const { rows } = await pool.query<{ sku: string }>('SELECT sku FROM reservation');
  console.log(JSON.stringify({ status: outcome.status, reserved: rows.map(({ sku }) => sku) }));
  await app.close();
  await pool.end();
}

void main();
