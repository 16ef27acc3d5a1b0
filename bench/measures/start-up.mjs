// How long an application of many sagas takes to start, beside the same with the classes as plain providers and no
// SagaModule. A process of its own for each start. --sagas=500 --steps=5 --starts=5
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { client, dbUrl } from '../lib/database.mjs';
import { now, percentile } from '../lib/figures.mjs';
import { args, createApp, createDatabase, emit, run } from './lib.mjs';
import { inNewProcess } from './new-process.mjs';
import { sagaOfSteps } from './sagas.mjs';

const sagas = args.sagas ?? 500;
const steps = args.steps ?? 5;
const starts = args.starts ?? 5;

const classes = () => Array.from({ length: sagas }, (_, k) => sagaOfSteps(steps, { name: `saga-${k}` }));

/** The same application, but for the engine. */
async function withoutSagas(providers) {
  class AppModule {}
  Module({ imports: [TypeOrmModule.forRoot({ type: 'postgres', url: dbUrl(args.db) })], providers })(
    AppModule,
  );
  return NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
}

/** One start, in a process that has done nothing before. */
async function startOnce() {
  const providers = classes();
  const began = now();
  const app =
    args.start === 'with'
      ? await createApp({ db: args.db, sagas: providers })
      : await withoutSagas(providers);
  process.send(now() - began);
  await app.close();
  process.exit(0);
}

const timeOf = (db, start) =>
  inNewProcess(import.meta.url, [`--start=${start}`, `--db=${db}`, `--sagas=${sagas}`, `--steps=${steps}`]);

async function graphs(db) {
  const c = await client(db);
  const { rows } = await c.query('SELECT count(*)::int AS n FROM saga.graph');
  await c.end();
  return rows[0].n;
}

if (args.start) await startOnce();
else
  await run(async () => {
    const db = await createDatabase();
    // Makes the tables, and stores the graphs.
    const first_start_ms = await timeOf(db, 'with');
    const times = { with: [], without: [] };
    for (let k = 0; k < starts; k += 1)
      for (const start of ['without', 'with']) times[start].push(await timeOf(db, start));
    const [start_ms, without_ms] = [times.with, times.without].map((list) => percentile(list, 0.5));
    emit(
      { first_start_ms, start_ms, without_ms, beside_ms: start_ms - without_ms },
      { sagas, steps, starts, complete: (await graphs(db)) === sagas },
    );
  });
