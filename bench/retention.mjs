// npm run bench:retention -- [--sagas=1000000] [--keep=100000] [--rounds=5] [--seconds=5]
// What the deletion of old sagas costs those that run: an ordinary Nest application, one process, with PostgreSQL 18 from
// npm beside it. So many finished sagas are filled in by SQL, of which all but `keep` are old. Then three-step sagas run
// for some seconds, and while a part of what is old is deleted as the schedule does it, in turns; the ratio of the two
// rates tells what it costs. --sagas=10000000 needs some 10 GB of disk and a while.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { Saga, SagaModule, SagaService, Step } from '../libs/saga/dist/index.js';
import { SagaCleanup } from '../libs/saga/dist/nest/saga.cleanup.js';
import { FinishedIndex } from '../libs/saga/dist/store/postgres/finished-index.js';
import { PostgresCleanup } from '../libs/saga/dist/store/postgres/postgres-cleanup.js';
import { startServer } from './server.mjs';

const { values } = parseArgs({
  options: {
    sagas: { type: 'string', default: '1000000' },
    keep: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
  },
});
const [sagas, keep, rounds, seconds] = ['sagas', 'keep', 'rounds', 'seconds'].map((name) => {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name}=${values[name]}: give a whole number from 1`);
  return value;
});
const WINDOW = 200;
const FILLED_AT_ONCE = 100_000;

class OldSaga {
  async s1() {}
  async s2() {}
  async s3() {}
}
class PlainSaga {
  async s1() {}
  async s2() {}
  async s3() {}
}
// What the compiler makes of decorators.
const decorate = (type, name, decorator) =>
  decorator(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name));
for (const type of [OldSaga, PlainSaga]) for (const name of ['s1', 's2', 's3']) decorate(type, name, Step());
Saga({ name: 'old' })(OldSaga);
Saga({ name: 'plain' })(PlainSaga);

/** Runs sagas to their end, so many at once, until the promise is settled. */
async function loadDuring(service, promise) {
  let goesOn = true;
  const times = [];
  const lane = async () => {
    while (goesOn) {
      const began = performance.now();
      const saga = await service.start(PlainSaga, { n: 1 });
      await saga.outcome();
      times.push(performance.now() - began);
    }
  };
  const began = performance.now();
  const lanes = Promise.all(Array.from({ length: WINDOW }, lane));
  await promise;
  const [done, took] = [times.length, performance.now() - began];
  goesOn = false;
  await lanes;
  times.sort((a, b) => a - b);
  return {
    rate: (done / took) * 1_000,
    p50: times[times.length >> 1],
    p99: times[Math.floor(times.length * 0.99)],
  };
}

/** Those to keep ended yesterday; the others in portions, one a round, each ten days before the one before. */
async function fill(client) {
  for (let n = 0; n < sagas; n += FILLED_AT_ONCE) {
    const [first, last] = [n, Math.min(sagas, n + FILLED_AT_ONCE) - 1];
    await client.query(
      `WITH made AS (
         INSERT INTO saga.instance (id, name, version, correlation_id, status, step, input, epoch, finished_at)
         SELECT gen_random_uuid(), 'old', 1, 'old-' || n, 'completed', '', '{"sku":"abc","quantity":1}', 1,
           now() - n * interval '1 ms' - CASE WHEN n < $3::int THEN interval '1 day'
             ELSE interval '60 days' + (n % $4::int) * interval '10 days' END
         FROM generate_series($1::int, $2::int) n RETURNING id)
       INSERT INTO saga.step (saga_id, name, status, attempts, result)
       SELECT made.id, s.name, 'completed', 1, '{"ok":true}' FROM made, unnest(ARRAY['s1', 's2', 's3']) AS s(name)`,
      [first, last, keep, rounds],
    );
  }
  await client.query('VACUUM ANALYZE saga.instance, saga.step');
}

const server = await startServer();
const client = new pg.Client({ connectionString: server.url });
await client.connect();
class App {}
Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: server.url, poolSize: 12 }),
    SagaModule.forRoot({ worker: { concurrency: WINDOW } }),
  ],
  providers: [OldSaga, PlainSaga],
})(App);
const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
const service = app.get(SagaService);
const dataSource = app.get(DataSource);
await app.init();
const quiet = { log() {}, debug() {}, warn: console.warn, error: console.error };
const total = async () => (await client.query('SELECT count(*)::int AS n FROM saga.instance')).rows[0].n;

console.log(
  `filling in ${sagas} finished sagas of four rows each, ${Math.max(0, sagas - keep)} of them old …`,
);
const beganFilling = performance.now();
await fill(client);
console.log(`filled in ${((performance.now() - beganFilling) / 1_000).toFixed(0)} s`);
await loadDuring(service, sleep(2_000));

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const shown = ({ rate, p50, p99 }) =>
  `${rate.toFixed(0)} sagas/s (p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms)`;
const index = new FinishedIndex(dataSource, 'saga');
while (!(await index.ensure(new AbortController().signal))) await sleep(100);
const ratios = [];
for (let round = rounds - 1; round >= 0; round -= 1) {
  const without = await loadDuring(service, sleep(seconds * 1_000));
  // The schedule's own pass, with what the oldest portion's retention would be.
  const retentions = new Map([['old', (55 + round * 10) * 86_400_000]]);
  const cleanup = new SagaCleanup(
    new PostgresCleanup(dataSource, 'saga'),
    index,
    { retentions },
    undefined,
    quiet,
  );
  const [count, began] = [await total(), performance.now()];
  let gone = 0;
  const counted = await loadDuring(
    service,
    cleanup.tick().then(() => (gone = (performance.now() - began) / 1_000)),
  );
  const deleted = Math.floor((sagas - keep) / rounds);
  ratios.push(counted.rate / without.rate);
  console.log(
    `${count} rows: without ${shown(without)}; with ${shown(counted)}, ${(deleted / gone).toFixed(0)} deleted/s ` +
      `for ${gone.toFixed(1)} s; ratio ${ratios.at(-1).toFixed(2)}`,
  );
}
const { rows } = await client.query(`SELECT count(*)::int AS n FROM saga.instance WHERE name = 'old'`);
console.log(
  `ratio of the rates with and without the deletion, median of ${rounds}: ${median(ratios).toFixed(2)}`,
);
console.log(`left of the old: ${rows[0].n} (to be kept: ${keep})`);
await app.close();
await client.end();
await server.stop();
