import 'reflect-metadata';
import assert from 'node:assert/strict';
import { NestFactory } from '@nestjs/core';
import { type SagaOutcome, SagaService } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { AppModule } from './app.module.js';
import { loadedVersions } from './loaded-versions.js';
import { LedgerEntry } from './ledger-entry.entity.js';
import { placeOrder } from './place-order.saga.js';
import { StockService } from './stock.service.js';

const ORDERS = 60;

/**
 * Sagas while connections are lost and the server restarts: each ends as it should, and nothing is booked
 * twice.
 */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  const [sagas, dataSource] = [app.get(SagaService), app.get(DataSource)];
  const versions = await loadedVersions(dataSource);
  const orders = Array.from({ length: ORDERS }, (_, n) => ({
    ...{ orderId: `order-${n}`, amount: n + 1, shippingTakes: 50 * n, addressIsUnknown: n % 3 === 0 },
  }));
  const placing = orders.map((order) => tryUntilDone(() => placeOrder(sagas, order)));
  // The other half of the program, outside of it, breaks connections from now on.
  console.log('sagas running');
  const handles = await Promise.all(placing);
  const outcomes = await Promise.all(handles.map(({ id }) => outcomeOf(sagas, id)));
  for (const [n, order] of orders.entries()) {
    const isRefused = order.addressIsUnknown;
    assert.equal(outcomes[n]!.status, isRefused ? 'compensated' : 'completed', order.orderId);
    const booked = await tryUntilDone(() =>
      dataSource.getRepository(LedgerEntry).find({ where: { orderId: order.orderId }, order: { id: 'ASC' } }),
    );
    const expected = isRefused ? [order.amount, -order.amount] : [order.amount];
    assert.deepEqual(
      booked.map(({ amount }) => amount),
      expected,
      order.orderId,
    );
    assert.equal(app.get(StockService).has(order.orderId), !isRefused, order.orderId);
  }
  assert.equal(new Set(handles.map(({ id }) => id)).size, ORDERS);
  await app.close();
  console.log(JSON.stringify(versions));
}

/** @throws an error that tells how the saga stands, if it does not settle. */
async function outcomeOf(sagas: SagaService, id: string): Promise<SagaOutcome> {
  try {
    return await tryUntilDone(() => sagas.wait(id, { timeout: '40s' }));
  } catch (cause) {
    throw new Error(`It stands so: ${JSON.stringify(await sagas.get(id))}`, { cause });
  }
}

/**
 * A call on a lost connection fails, and is made again, as an application's own retries would: correlation
 * ids make that safe.
 */
async function tryUntilDone<T>(call: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}

void main();
