// npm run bench:waiting -- [--waiting=1000000] [--signals=20000] [--plain=10000] [--rounds=3]
// What sagas cost that wait for a signal, and how fast signals are taken: an ordinary Nest application, one
// process, with
// PostgreSQL 18 from npm beside it. Plain sagas (three steps) are run before and while the others wait: the
// ratio tells
// what waiting costs those that do not wait.
import { parseArgs } from 'node:util';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { Saga, SagaModule, SagaService, Step, WaitFor } from '../libs/saga/dist/index.js';
import { startServer } from './server.mjs';

const { values } = parseArgs({
  options: {
    waiting: { type: 'string', default: '1000000' },
    signals: { type: 'string', default: '20000' },
    plain: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
  },
});
const [waiting, signals, plain, rounds] = ['waiting', 'signals', 'plain', 'rounds'].map((name) => {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name}=${values[name]}: give a whole number from 1`);
  return value;
});
const WINDOW = 1_000;

class PlainSaga {
  async s1() {}
  async s2() {}
  async s3() {}
}
class WaitingSaga {
  async request() {}
  async reply(_ctx, payload) {
    return payload;
  }
}
// What the compiler makes of decorators.
const decorate = (type, name, decorator) =>
  decorator(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name));
for (const name of ['s1', 's2', 's3']) decorate(PlainSaga, name, Step());
decorate(WaitingSaga, 'request', Step());
decorate(WaitingSaga, 'reply', WaitFor({ signal: 'reply' }));
Saga()(PlainSaga);
Saga()(WaitingSaga);

/** Calls `work` for 0 to n - 1, so many at once; sagas a second. */
async function rateOf(n, work) {
  const began = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < n) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(n, WINDOW) }, lane));
  return (n / (performance.now() - began)) * 1_000;
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const show = (list) =>
  `${Math.round(median(list))} (${list
    .map(Math.round)
    .sort((a, b) => a - b)
    .join(', ')})`;
const megabytes = () => {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return `heap ${(heapUsed / 2 ** 20).toFixed(0)} MB, RSS ${(rss / 2 ** 20).toFixed(0)} MB`;
};

const server = await startServer();
const client = new pg.Client({ connectionString: server.url });
await client.connect();
await client.query('CREATE EXTENSION pg_stat_statements');
class AppModule {}
Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: server.url, extra: { max: 10 } }),
    SagaModule.forRoot({ worker: { concurrency: WINDOW } }),
  ],
  providers: [PlainSaga, WaitingSaga],
})(AppModule);
const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
const sagas = app.get(SagaService);
const one = async (text) => (await client.query(text)).rows[0];
const settled = async (condition) => {
  while ((await one(`SELECT EXISTS (${condition}) AS more`)).more)
    await new Promise((r) => setTimeout(r, 20));
};
const runPlain = () => rateOf(plain, async () => (await sagas.start(PlainSaga, undefined)).outcome());

try {
  await runPlain();
  const before = [];
  for (let n = 0; n < rounds; n += 1) before.push(await runPlain());
  console.log(`plain sagas/s, none waiting: ${show(before)}; ${megabytes()}`);

  const ids = [];
  const began = performance.now();
  await rateOf(waiting, async (n) => {
    ids[n] = (await sagas.start(WaitingSaga, undefined)).id;
  });
  await settled(`SELECT FROM saga.instance WHERE rank_at IS NOT NULL`);
  const seconds = (performance.now() - began) / 1_000;
  console.log(
    `${waiting} sagas wait after ${seconds.toFixed(1)} s (${Math.round(waiting / seconds)}/s); ${megabytes()}`,
  );
  const { bytes } = await one(
    `SELECT (pg_total_relation_size('saga.instance') + pg_total_relation_size('saga.step')) / ${waiting} AS bytes`,
  );
  const { due } = await one(`SELECT pg_relation_size('saga.instance_due') AS due`);
  console.log(`a saga that waits: ${bytes} bytes in the database; index of what is due: ${due} bytes in all`);

  await client.query('SELECT pg_stat_statements_reset()');
  await new Promise((r) => setTimeout(r, 10_000));
  const { calls } = await one(
    `SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%'`,
  );
  console.log(`statements a second while they wait: ${calls / 10}`);

  const after = [];
  for (let n = 0; n < rounds; n += 1) after.push(await runPlain());
  const ratios = after.map((rate) => rate / median(before));
  console.log(
    `plain sagas/s, ${waiting} waiting: ${show(after)}; ratio ${median(ratios).toFixed(2)} ` +
      `(${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}); ${megabytes()}`,
  );

  const sent = Math.min(signals, waiting);
  const step = Math.floor(waiting / sent);
  const from = performance.now();
  const calls_ = await rateOf(sent, (n) => sagas.signal(ids[n * step], 'reply', { n }));
  while (
    (
      await one(
        `SELECT count(*)::int AS n FROM saga.instance WHERE name = 'waiting' AND status = 'completed'`,
      )
    ).n < sent
  )
    await new Promise((r) => setTimeout(r, 20));
  const total = (performance.now() - from) / 1_000;
  console.log(
    `signals: ${Math.round(calls_)} calls/s, ${Math.round(sent / total)} sagas/s from signal to completed; ${megabytes()}`,
  );
} finally {
  await app.close();
  await client.end();
  await server.stop();
}
