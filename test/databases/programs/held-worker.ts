import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  Saga,
  SagaModule,
  SagaService,
  Step,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import { LAYERS } from '../layers/index.js';

/** A process that starts a saga in a transaction, and is killed in the transaction of its step. */
const { LAYER, DATABASE_URL, SAGA_ID } = process.env;
const layer = await LAYERS.find(({ name }) => name === LAYER)!.open(DATABASE_URL!);

@Saga({ name: 'order' })
class Order {
  @Step({ transactional: true }) async book({
    transaction,
  }: TransactionalStepContext<object, unknown, object>) {
    await layer.write(transaction, 'killed');
    console.log('written');
    await new Promise(() => undefined);
  }
}

class App {}
Module({
  imports: [
    ...(layer.imports ?? []),
    // No machine is too slow to renew it.
    SagaModule.forRoot({ database: layer.database, worker: { lease: '10m' } }),
  ],
  providers: [Order],
})(App);
const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
await layer.transaction((transaction) => app.get(SagaService).start(Order, {}, { id: SAGA_ID, transaction }));
