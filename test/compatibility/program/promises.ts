import assert from 'node:assert/strict';
import type { INestApplicationContext } from '@nestjs/common';
import { SagaConflictError, SagaService } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { LedgerEntry } from './ledger-entry.entity.js';
import { PlaceOrderSaga, placeOrder } from './place-order.saga.js';
import { StockService } from './stock.service.js';

const WAIT = { timeout: '60s' } as const;

/** A saga completes: its steps in order, its signal taken, its transactional step written once. */
export async function itCompletes(app: INestApplicationContext): Promise<void> {
  const handle = await placeOrder(app.get(SagaService), { orderId: 'completed', amount: 5 });
  const outcome = await handle.outcome(WAIT);
  assert.equal(outcome.status, 'completed');
  assert.equal(outcome.results.ship, 'completed paid by p-completed');
  assert.deepEqual(await booked(app, 'completed'), [5]);
  assert.ok(app.get(StockService).has('completed'));
}

/** One that fails is undone, the transactional step included. */
export async function itTurnsBack(app: INestApplicationContext): Promise<void> {
  const order = { orderId: 'refused', amount: 7, addressIsUnknown: true };
  const handle = await placeOrder(app.get(SagaService), order);
  const outcome = await handle.outcome(WAIT);
  assert.equal(outcome.status, 'compensated');
  assert.equal(outcome.failure?.kind, 'rejected');
  assert.equal(outcome.failure.step, 'ship');
  assert.deepEqual(await booked(app, 'refused'), [7, -7]);
  assert.ok(!app.get(StockService).has('refused'));
}

/** The same correlation id again is the same saga, and with another input a conflict. */
export async function itStartsOnce(app: INestApplicationContext): Promise<void> {
  const sagas = app.get(SagaService);
  const order = { orderId: 'once', amount: 3 };
  const [first, second] = [await placeOrder(sagas, order), await placeOrder(sagas, order)];
  assert.equal(second.id, first.id);
  assert.deepEqual([first.created, second.created], [true, false]);
  const another = sagas.start(PlaceOrderSaga, { ...order, amount: 4 }, { correlationId: 'once' });
  await assert.rejects(
    another,
    (error) => error instanceof SagaConflictError && error.code === 'SAGA_CONFLICT',
  );
  await first.outcome(WAIT);
  assert.deepEqual(await booked(app, 'once'), [3]);
}

/** Waits for a signal, holding nothing, until it is sent. */
export async function itWaits(app: INestApplicationContext): Promise<void> {
  const sagas = app.get(SagaService);
  const handle = await sagas.start(PlaceOrderSaga, { orderId: 'waits', amount: 1 });
  const waiting = async () => (await sagas.get(handle.id)).waitingFor?.kind;
  while ((await waiting()) !== 'signal') await new Promise((resolve) => setTimeout(resolve, 20));
  await sagas.signal(handle.id, 'payment-reply', { payment: 'late' });
  const outcome = await handle.outcome(WAIT);
  assert.equal(outcome.results.ship, 'waits paid by late');
}

/** Closing waits for the running step. Another process runs the next ones. @returns the saga's id */
export async function itLetsTheStepEnd(app: INestApplicationContext): Promise<string> {
  const sagas = app.get(SagaService);
  const handle = await placeOrder(sagas, { orderId: 'drained', amount: 2, shippingTakes: 1_000 });
  const shipping = async () => (await sagas.get(handle.id)).steps.find(({ name }) => name === 'paid')?.status;
  while ((await shipping()) !== 'completed') await new Promise((resolve) => setTimeout(resolve, 20));
  await app.close();
  return handle.id;
}

/** The step that the previous process ran has ended, and started once. */
export async function itGoesOnElsewhere(app: INestApplicationContext, id: string): Promise<void> {
  const outcome = await app.get(SagaService).wait(id, WAIT);
  assert.equal(outcome.status, 'completed');
  const { steps } = await app.get(SagaService).get(id);
  assert.deepEqual(
    steps.map(({ attempts }) => attempts),
    steps.map(() => 1),
  );
  assert.deepEqual(await booked(app, 'drained'), [2]);
}

async function booked(app: INestApplicationContext, orderId: string): Promise<number[]> {
  const entries = app.get(DataSource).getRepository(LedgerEntry);
  return (await entries.find({ where: { orderId }, order: { id: 'ASC' } })).map(({ amount }) => amount);
}
