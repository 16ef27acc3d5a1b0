import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** An application over two copies, `one` and `two`, each as a package manager installs it. */
const PROGRAM = `
  import 'reflect-metadata';
  import { Module } from '@nestjs/common';
  import { NestFactory } from '@nestjs/core';
  import { TypeOrmModule } from '@nestjs/typeorm';
  import * as one from './one/dist/index.js';
  import * as two from './two/dist/index.js';

  class OrderSaga { book() { return 'booked'; } }
  two.Step()(OrderSaga.prototype, 'book', {});
  two.Saga()(OrderSaga);
  const modules = { one: [one], both: [one, two], twice: [one, one] }[process.env.MODULES];
  class AppModule {}
  Module({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }),
      ...modules.map((copy, n) => copy.SagaModule.forRoot({ schema: 'saga' + n })),
    ],
    providers: [OrderSaga],
  })(AppModule);
  try {
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
    const handle = await app.get(one.SagaService, { strict: false }).start(OrderSaga);
    console.log(JSON.stringify(await handle.outcome({ timeout: '30s' })));
    await app.close();
  } catch ({ code, message }) {
    console.log(JSON.stringify({ code, message }));
    process.exit();
  }`;

let folder: string;
let database: TestDatabase;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'saga-copies-')));
  database = await createTestDatabase();
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const copy of ['one', 'two']) {
    await mkdir(join(folder, copy));
    for (const part of ['dist', 'package.json'])
      await cp(join(ROOT, 'libs/saga', part), join(folder, copy, part), { recursive: true });
  }
  await writeFile(join(folder, 'main.mjs'), PROGRAM);
}, 60_000);

afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function printedWith(modules: 'one' | 'both' | 'twice'): Promise<Record<string, unknown>> {
  const env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url, MODULES: modules };
  const { stdout } = await run(process.execPath, [join(folder, 'main.mjs')], { cwd: folder, env });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('two installed copies of the package in one application', () => {
  test('refuse to start if the SagaModules of both are imported, and name both folders', async () => {
    const { code, message } = await printedWith('both');
    expect(code).toBe('SAGA_CONFIGURATION');
    expect(message).toMatch(/^The SagaModules of 2 copies of nestjs-durable-saga are imported: /);
    for (const copy of ['one', 'two']) expect(message).toContain(` in ${join(folder, copy)}`);
    expect(message).toContain("'npm ls nestjs-durable-saga'");
  }, 60_000);

  test('are not what a SagaModule is refused for that is imported twice from one of them', async () => {
    const { code, message } = await printedWith('twice');
    expect(code).toBe('SAGA_CONFIGURATION');
    expect(message).toContain('SagaModule is imported 2 times');
  }, 60_000);

  test('run the sagas that are decorated by either, if one SagaModule is imported', async () => {
    const { status, results } = await printedWith('one');
    expect({ status, results }).toEqual({ status: 'completed', results: { book: 'booked' } });
  }, 60_000);
});
