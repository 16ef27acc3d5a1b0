import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ClsServiceManager } from 'nestjs-cls';
import { SagaModule, SagaService } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { ambient, DeliverSaga, Purchases, PurchasesModule } from './ambient-transactions.cls.js';

/** What the spec runs in a process of its own, since Jest cannot load nestjs-cls. */
async function application(worker?: false) {
  const database = TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL });
  @Module({ imports: [database, SagaModule.forRoot({ ambient, worker }), PurchasesModule] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  return { app, sagas: app.get(SagaService, { strict: false }) };
}

const web = await application(false);
const dataSource = web.app.get(DataSource, { strict: false });
await dataSource.query('CREATE TABLE purchase (id text PRIMARY KEY, sku text)');
const purchases = web.app.get(Purchases, { strict: false });
const add = (id: string, sku: string) =>
  ClsServiceManager.getClsService().runWith({ tenant: 'acme' } as never, () => purchases.add({ id, sku }));
const refused = await add('p-1', '').catch((error: Error) => error.message);
const left = await dataSource.query<unknown[]>(
  'SELECT (SELECT count(*) FROM purchase) AS purchases, (SELECT count(*) FROM saga.instance) AS sagas',
);
const id = await add('p-2', 'book');
const plain = await web.sagas.start(DeliverSaga, { id: 'p-3', sku: 'pen' });
const { tags } = await web.sagas.get(id);
await web.app.close();
const { app, sagas } = await application();
const results = [(await sagas.wait(id)).results, (await sagas.wait(plain.id)).results];
await app.close();
console.log(JSON.stringify({ refused, left, tags, results }));
