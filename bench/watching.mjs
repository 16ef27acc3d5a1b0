// npm run bench:watching -- [--watchers=10000]
// What it costs to watch sagas in one process: memory, statements a second while nothing changes, and how long it takes
// until all watchers have seen the end of their sagas. The sagas wait for a signal, and run in another application.
import { parseArgs } from 'node:util';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { Saga, SagaModule, SagaService, Step, WaitFor } from '../libs/saga/dist/index.js';
import { startServer } from './server.mjs';

const { values } = parseArgs({ options: { watchers: { type: 'string', default: '10000' } } });
const watchers = Number(values.watchers);
if (!Number.isInteger(watchers) || watchers < 1)
  throw new Error(`--watchers=${values.watchers}: give a whole number from 1`);
/** Seconds in which nothing changes. */
const IDLE = 10;

class WaitingSaga {
  async request() {
    return { amount: 100 };
  }
  async reply() {}
}
// What the compiler makes of decorators.
const decorate = (type, name, decorator) =>
  decorator(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name));
decorate(WaitingSaga, 'request', Step());
decorate(WaitingSaga, 'reply', WaitFor({ signal: 'reply' }));
Saga()(WaitingSaga);

const server = await startServer();
const client = new pg.Client({ connectionString: server.url });
await client.connect();
await client.query('CREATE EXTENSION pg_stat_statements');

async function appWith(worker) {
  class AppModule {}
  Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: server.url, extra: { max: 10 } }),
      SagaModule.forRoot({ worker }),
    ],
    providers: [WaitingSaga],
  })(AppModule);
  return NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
}

async function all(n, work) {
  let next = 0;
  const lane = async () => {
    while (next < n) await work(next++);
  };
  await Promise.all(Array.from({ length: 500 }, lane));
}

const one = async (text) => (await client.query(text)).rows[0];
const heap = () => {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};

const worker = await appWith({ concurrency: 500 });
const web = await appWith(false);
try {
  const ids = [];
  const running = worker.get(SagaService);
  await all(watchers, async (n) => (ids[n] = (await running.start(WaitingSaga, undefined)).id));
  for (;;) {
    const { more } = await one(`SELECT EXISTS (SELECT FROM saga.instance WHERE rank_at IS NOT NULL) AS more`);
    if (!more) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }

  const sagas = web.get(SagaService);
  const before = heap();
  let [received, ended] = [0, 0];
  let isOver;
  const over = new Promise((resolve) => (isOver = resolve));
  const began = performance.now();
  const first = [];
  for (const id of ids) {
    first.push(
      new Promise((resolve, reject) => {
        sagas.watch(id).subscribe({
          next: () => resolve((received += 1)),
          error: reject,
          complete: () => (ended += 1) === watchers && isOver(),
        });
      }),
    );
  }
  await Promise.all(first);
  console.log(
    `${watchers} watchers have the current state after ${Math.round(performance.now() - began)} ms`,
  );
  // The queries settle at their longest interval.
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  console.log(`a watcher: ${Math.round((heap() - before) / watchers)} bytes of heap`);

  await client.query('SELECT pg_stat_statements_reset()');
  const cpu = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, IDLE * 1_000));
  const used = process.cpuUsage(cpu);
  const { calls, ms } = await one(
    `SELECT coalesce(sum(calls), 0)::int AS calls, coalesce(sum(total_exec_time), 0)::float8 AS ms
     FROM pg_stat_statements WHERE query LIKE '%md5%' AND query NOT LIKE '%pg_stat%'`,
  );
  console.log(
    `while nothing changes: ${calls / IDLE} statements/s, ${(ms / IDLE).toFixed(1)} ms/s in PostgreSQL, ` +
      `${((used.user + used.system) / 1_000 / IDLE).toFixed(1)} ms/s of CPU time in this process (both applications)`,
  );

  const sent = performance.now();
  received = 0;
  await all(watchers, (n) => running.signal(ids[n], 'reply'));
  const signalled = performance.now();
  await over;
  console.log(
    `${watchers} signals took ${Math.round(signalled - sent)} ms; all watchers had ended ` +
      `${Math.round(performance.now() - signalled)} ms after the last of them, with ${received} states`,
  );
} finally {
  await web.close();
  await worker.close();
  await client.end();
  await server.stop();
}
