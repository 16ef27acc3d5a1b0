import 'reflect-metadata';
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Saga, SagaModule, SagaService, Step, type TransactionalStepContext } from 'nestjs-durable-saga';
import { Client } from 'pg';
import { installedVersion } from './installed-version.js';
import type { Layer, Layers } from './layer.js';

const { DATABASE_URL: URL = '', LAYER, SAGA_ID: KILLED = '' } = process.env;
const WAIT = { timeout: '60s' } as const;
/** The step of a process that is to be killed waits for ever. */
const hangs = LAYER !== undefined;
let layer: Layer<object>;

@Saga({ name: 'book-trip' })
class BookTripSaga {
  @Step({ transactional: true })
  async book(ctx: TransactionalStepContext<{ trip: string }, unknown, object>): Promise<number> {
    await layer.book(ctx.transaction, ctx.input.trip);
    if (hangs) {
      console.log('written');
      await new Promise(() => setInterval(() => undefined, 1_000));
    }
    return ctx.attempt;
  }
}

/**
 * What a database layer promises: a saga that starts in a transaction of the application exists if that commits, and a
 * transactional step of a process that is killed has no effect, until another process runs it once. Ends by itself, and
 * prints the versions.
 */
export async function tryLayers(layers: Layers): Promise<void> {
  if (LAYER !== undefined) return holdInStep(layers[LAYER]!);
  const client = new Client({ connectionString: URL });
  await client.connect();
  await client.query('CREATE TABLE booking (what text NOT NULL)');
  for (const [name, open] of Object.entries(layers)) await tryLayer(name, open, client);
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
  await client.end();
  const names = ['@nestjs/core', 'nestjs-durable-saga', 'pg', ...Object.keys(layers)];
  const versions = Object.fromEntries(names.map((one) => [one, installedVersion(one)]));
  const server = rows[0]!.server_version.split(' ')[0];
  console.log(JSON.stringify({ ...versions, node: process.versions.node, postgres: server }));
}

async function tryLayer(name: string, open: Layers[string], client: Client): Promise<void> {
  const [id, trip] = [randomUUID(), `${name} trip`];
  const bookings = async () =>
    (
      await client.query<{ what: string }>('SELECT what FROM booking WHERE what LIKE $1', [`${name}%`])
    ).rows.map(({ what }) => what);
  await killInStep(name, id);
  assert.deepEqual(await bookings(), [], `${name}: the step of the killed process has left its writes`);
  // As if the time of the lease had passed.
  await client.query('UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1', [id]);
  layer = await open(URL);
  const app = await start();
  const outcome = await app.get(SagaService).wait(id, WAIT);
  assert.deepEqual([outcome.status, outcome.results], ['completed', { book: 2 }], name);
  assert.deepEqual(await bookings(), [trip], name);
  await itStartsOnCommitAlone(app, name);
  await app.close();
  await layer.close();
}

/** A saga that a rolled-back transaction started does not exist. */
async function itStartsOnCommitAlone(app: INestApplicationContext, name: string): Promise<void> {
  const sagas = app.get(SagaService);
  const id = randomUUID();
  const rolledBack = layer.transaction(async (transaction) => {
    await sagas.start(BookTripSaga, { trip: `${name} rolled back` }, { id, transaction });
    throw new Error('changed my mind');
  });
  await assert.rejects(rolledBack, /changed my mind/);
  await assert.rejects(sagas.get(id), { code: 'SAGA_NOT_FOUND' }, name);
}

/** The process that is killed: it starts a saga in a transaction, whose step writes and does not return. */
async function holdInStep(open: Layers[string]): Promise<void> {
  layer = await open(URL);
  const app = await start();
  await layer.transaction((transaction) =>
    app.get(SagaService).start(BookTripSaga, { trip: `${LAYER} trip` }, { id: KILLED, transaction }),
  );
}

async function killInStep(name: string, id: string): Promise<void> {
  const env = { ...process.env, LAYER: name, SAGA_ID: id };
  const child = spawn(process.execPath, [process.argv[1]!], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  try {
    await written(child, name);
  } finally {
    child.kill('SIGKILL');
    await exit;
  }
}

/** Resolves once the step has written. Rejects if the process ends before. */
async function written(child: ChildProcess, name: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (text: Buffer) => {
      if (text.toString().includes('written')) resolve();
    });
    child.once('exit', () => reject(new Error(`The process of ${name} ended before its step had written`)));
  });
}

function start(): Promise<INestApplicationContext> {
  const { database, imports = [] } = layer;
  class AppModule {}
  // No machine is too slow to renew the lease.
  const sagas = SagaModule.forRoot({ database, worker: { lease: '10m' } });
  Module({ imports: [...imports, sagas], providers: [BookTripSaga] })(AppModule);
  return NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
}
