// Shared by all measures: a process with databases and applications of its own, one JSON line for each figure.
// node bench/measures/<name>.mjs [--flag=value …], with PGURL set.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Module } from '@nestjs/common';
import pg from 'pg';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule, SagaSchedules, SagaService } from '../../libs/saga/dist/index.js';
import { pgDatabase } from '../../libs/saga/dist/databases/pg/index.js';
import { dbUrl, dropDatabase, makeDatabase } from '../lib/database.mjs';
import { round, writeLine } from '../lib/figures.mjs';
import { flagsOf } from '../lib/flags.mjs';
import { unitOf } from './units.mjs';

export const args = flagsOf(process.argv.slice(2));
export const MEASURE = basename(process.argv[1], '.mjs');
const VERSION = JSON.parse(
  readFileSync(new URL('../../libs/saga/package.json', import.meta.url), 'utf8'),
).version;
/** Connections of an application, as TypeORM has them by default. */
export const POOL = args.pool ?? 10;

const databases = [];
let applications = 0;

/** A measure from its first database to the end of its process. Past `max` seconds it has hung, and fails. */
export async function run(measure, max = 1_800) {
  const watchdog = setTimeout(
    () => {
      console.error(`${MEASURE} did not end within ${args.max ?? max} s`);
      process.exit(1);
    },
    1_000 * (args.max ?? max),
  );
  let failed = false;
  try {
    await measure();
  } catch (error) {
    failed = true;
    console.error(error);
  }
  clearTimeout(watchdog);
  // Pools may complain when their database goes; the figures are out by now.
  process.on('uncaughtException', () => {});
  process.on('unhandledRejection', () => {});
  if (!args.keep) for (const db of databases) await dropDatabase(db);
  process.exit(failed ? 1 : 0);
}

export async function createDatabase() {
  const db = `bench_${MEASURE.replace(/\W/g, '_')}_${process.pid}_${databases.length}`;
  databases.push(db);
  await makeDatabase(db);
  return db;
}

/**
 * An application as a user has it: on TypeORM, or with `--database=pg` on a pool of pg.
 * @param worker its options, or false for none
 * @param options further ones of SagaModule
 * @param url how the database is reached
 */
export async function createApp({ db, sagas, worker = {}, options, pool = POOL, url = dbUrl(db) }) {
  // Only one of a process may have the default name.
  const named = applications++ === 0 ? {} : { name: `application-${applications}` };
  const workerOptions = worker && { concurrency: 1_000, ...worker };
  const rest = { ...options, worker: workerOptions };
  const pgPool = args.database === 'pg' ? new pg.Pool({ connectionString: url, max: pool }) : undefined;
  class AppModule {}
  Module({
    imports: pgPool
      ? [SagaModule.forRoot({ database: pgDatabase(pgPool), ...rest })]
      : [
          TypeOrmModule.forRoot({ type: 'postgres', url, extra: { max: pool }, ...named }),
          SagaModule.forRoot({ ...(named.name && { dataSource: named.name }), ...rest }),
        ],
    providers: sagas,
  })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
  const close = async () => {
    await app.close();
    await pgPool?.end();
  };
  return { service: app.get(SagaService), schedules: app.get(SagaSchedules), close };
}

/** Gives what `use` gives, once the application is closed. */
export async function withApp(setup, use) {
  const app = await createApp(setup);
  try {
    return await use(app.service);
  } finally {
    await app.close();
  }
}

/** A line for each of { metric: value }; what could not be measured is no number, and left out. */
export function emit(figures, params = {}) {
  for (const [metric, value] of Object.entries(figures)) {
    if (!Number.isFinite(value)) continue;
    const digits = Math.abs(value) < 1 ? 4 : Math.abs(value) < 100 ? 2 : 1;
    writeLine({
      measure: MEASURE,
      version: VERSION,
      metric,
      value: round(value, digits),
      unit: unitOf(metric),
      ...params,
    });
  }
}

/** --name=1,10,100 */
export const numbers = (value) => String(value).split(',').map(Number);
