// npm run bench:retention -- [--sagas=1000000] [--keep=100000] [--rounds=5] [--seconds=5] [--partitions]
// What the deletion of old sagas costs those that run: an ordinary Nest application, one process, with
// PostgreSQL 18 from
// npm beside it. So many finished sagas are filled in by SQL, of which all but `keep` are old. Then
// three-step sagas run
// for some seconds, and while a part of what is old is deleted as the schedule does it, in turns; the ratio
// of the two
// rates tells what it costs. --sagas=10000000 needs some 10 GB of disk and a while. With --partitions what is
// old is in
// a daily partition for each round, which is dropped.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { Saga, SagaModule, SagaService, Step } from '../libs/saga/dist/modules/index.js';
import { SagaCleanup } from '../libs/saga/dist/modules/nest/maintenance/saga.cleanup.js';
import { SagaPartitions } from '../libs/saga/dist/modules/nest/maintenance/saga.partitions.js';
import { FinishedIndex } from '../libs/saga/dist/modules/store/postgres/setup/finished-index.js';
import { PostgresCleanup } from '../libs/saga/dist/modules/store/postgres/cleanup/postgres-cleanup.js';
import { PostgresPartitions } from '../libs/saga/dist/modules/store/postgres/partitions/postgres-partitions.js';
import { sqlOf } from '../libs/saga/dist/modules/store/postgres/typeorm/typeorm-database.js';
import { makePartition } from './lib/make-partition.mjs';
import { startServer } from './server.mjs';

const { values } = parseArgs({
  options: {
    sagas: { type: 'string', default: '1000000' },
    keep: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    partitions: { type: 'boolean', default: false },
  },
});
const [sagas, keep, rounds, seconds] = ['sagas', 'keep', 'rounds', 'seconds'].map((name) => {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name}=${values[name]}: give a whole number from 1`);
  return value;
});
const DAY = 86_400_000;
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

/** The age in days of a round's portion, and of the sagas to keep. */
const daysAgo = (portion) => (portion === undefined ? 1 : 60 + portion * 10);

/**
 * Those to keep began and ended yesterday; the others in portions, one a round, each ten days before the one
 * before.
 */
async function fill(client) {
  const portions = [undefined, ...Array.from({ length: rounds }, (_, n) => n)];
  for (const portion of portions) {
    const noon = Math.floor(Date.now() / DAY) * DAY - daysAgo(portion) * DAY + DAY / 2;
    if (values.partitions) await makePartition(client, noon);
    const count = portion === undefined ? Math.min(keep, sagas) : Math.floor((sagas - keep) / rounds);
    for (let n = 0; n < count; n += FILLED_AT_ONCE) {
      const [first, last] = [n, Math.min(count, n + FILLED_AT_ONCE) - 1];
      await client.query(
        `WITH made AS (
           INSERT INTO saga.instance (id, name, version, correlation_id, status, step, input, epoch, finished_at)
           SELECT (lpad(to_hex($3::bigint + n), 12, '0') || '7' || substr(md5(n::text || $4), 1, 19))::uuid, 'old', 1,
             $4 || n, 'completed', '', '{"sku":"abc","quantity":1}', 1, to_timestamp(($3::bigint + n) / 1000.0)
           FROM generate_series($1::int, $2::int) n RETURNING id, correlation_id),
         taken AS (${
           values.partitions
             ? `INSERT INTO saga.correlation SELECT correlation_id, 'old', id FROM made RETURNING 1`
             : 'SELECT 1'
         })
         INSERT INTO saga.step (saga_id, name, status, attempts, result)
         SELECT made.id, s.name, 'completed', 1, '{"ok":true}' FROM made, unnest(ARRAY['s1', 's2', 's3']) AS s(name)`,
        [first, last, noon, `${portion}-`],
      );
    }
  }
  await client.query('VACUUM ANALYZE saga.instance, saga.step');
}

/** What the schedule does, with what would be the retention of the round's portion. */
async function passOf(round, index) {
  const retentions = new Map([['old', (daysAgo(round) - 5) * DAY]]);
  if (!values.partitions)
    return new SagaCleanup(new PostgresCleanup(engine, 'saga'), index, { retentions }, undefined, quiet);
  const partitions = new SagaPartitions(new PostgresPartitions(engine, 'saga'), retentions, undefined, quiet);
  await partitions.prepare();
  return partitions;
}

const server = await startServer();
const client = new pg.Client({ connectionString: server.url });
await client.connect();
class App {}
Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: server.url, poolSize: 12 }),
    SagaModule.forRoot({
      worker: { concurrency: WINDOW },
      ...(values.partitions && { partitions: 'daily' }),
    }),
  ],
  providers: [OldSaga, PlainSaga],
})(App);
const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
const service = app.get(SagaService);
const engine = sqlOf(app.get(getDataSourceToken()));
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
const index = new FinishedIndex(engine, 'saga');
while (!(await index.ensure(new AbortController().signal))) await sleep(100);
const ratios = [];
for (let round = rounds - 1; round >= 0; round -= 1) {
  const without = await loadDuring(service, sleep(seconds * 1_000));
  const pass = await passOf(round, index);
  const [count, began] = [await total(), performance.now()];
  let gone = 0;
  const counted = await loadDuring(
    service,
    pass.tick().then(() => (gone = (performance.now() - began) / 1_000)),
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
