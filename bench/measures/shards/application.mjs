// The application of one side, a process of its own: it runs the loads that it is sent, and reports what each took.
import { once } from 'node:events';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { SagaModule, SagaService } from '../../../libs/saga/dist/index.js';
import { pgDatabase } from '../../../libs/saga/dist/databases/pg/index.js';
import { closedLoop, latencies } from '../loops.mjs';
import { sagaOfSteps } from '../sagas.mjs';
import { orderOf, orderSaga } from './order-saga.mjs';

/** Connections to each database, as pg and TypeORM have it by default. */
const POOL = 10;
const SAGAS = { plain: sagaOfSteps(3), order: orderSaga() };
const INPUTS = { plain: (i) => ({ i }), order: orderOf };

export const KINDS = Object.keys(SAGAS);

/** With one database, the application has no shards. */
function databasesOf(pools) {
  const databases = pools.map((pool) => pgDatabase(pool));
  if (databases.length === 1) return { database: databases[0] };
  return { shards: Object.fromEntries(databases.map((database, n) => [`shard${n + 1}`, database])) };
}

/** @param urls a database each */
export async function serve(urls) {
  const pools = urls.map((connectionString) => new pg.Pool({ connectionString, max: POOL }));
  class AppModule {}
  Module({
    imports: [SagaModule.forRoot({ ...databasesOf(pools), worker: { concurrency: 1_000 } })],
    providers: Object.values(SAGAS),
  })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  const service = app.get(SagaService);
  process.on('message', async ({ kind, n, window }) => {
    const { times, ...ran } = await closedLoop(service, SAGAS[kind], { n, window, input: INPUTS[kind] });
    process.send({ ...ran, times: latencies(times) });
  });
  process.send('ready');
  await once(process, 'disconnect');
  await app.close();
  for (const pool of pools) await pool.end();
}
