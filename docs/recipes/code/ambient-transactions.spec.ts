import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { transformFile } from '@swc/core';
import { SagaMessagingModule } from 'nestjs-durable-saga-messaging';
import { addTransactionalDataSource, initializeTransactionalContext } from 'typeorm-transactional';
import { createTestDatabase } from '../../../test/support/test-database.js';
import { ambient, DeliverSaga, Purchase, Purchases } from './ambient-transactions.js';
import { RecipeApps } from './recipe-apps.js';

const run = promisify(execFile);

@Module({
  imports: [TypeOrmModule.forFeature([Purchase]), SagaMessagingModule.forRoot({ relay: false })],
  providers: [Purchases, DeliverSaga],
})
class PurchasesModule {}

describe('the ambient-transactions recipe', () => {
  const apps = RecipeApps.onOwnDatabase();
  beforeAll(() => initializeTransactionalContext());

  test('joins the transaction of @Transactional() of typeorm-transactional', async () => {
    const { nest, sagas, dataSource } = await apps.start({
      ...{ module: { imports: [PurchasesModule] }, sagas: { ambient }, entities: [Purchase] },
    });
    addTransactionalDataSource(dataSource);
    const stored = () =>
      apps.sql(
        `SELECT (SELECT count(*)::int FROM purchase) AS purchases, (SELECT count(*)::int FROM saga.instance) AS sagas,
           (SELECT count(*)::int FROM saga.outbox) AS messages`,
      );
    const purchases = nest.get(Purchases, { strict: false });
    await expect(purchases.add({ id: 'p-1', sku: '' })).rejects.toThrow('no such product');
    expect(await stored()).toEqual([{ purchases: 0, sagas: 0, messages: 0 }]);
    const id = await purchases.add({ id: 'p-2', sku: 'book' });
    expect(await sagas.wait(id)).toMatchObject({
      status: 'completed',
      results: { label: 'parcel with book' },
    });
    expect(await stored()).toEqual([{ purchases: 1, sagas: 1, messages: 1 }]);
  });

  test('joins the transaction of @Transactional() of nestjs-cls, and gives its tenant to steps in another process', async () => {
    const database = await createTestDatabase();
    try {
      expect(await runProgram(database.url)).toEqual({
        ...{ refused: 'There is no such product', left: [{ purchases: '0', sagas: '0' }] },
        tags: { tenant: 'acme' },
        results: [{ label: 'book for acme' }, { label: 'pen for no tenant' }],
      });
    } finally {
      await database.drop();
    }
  }, 60_000);
});

/** Runs the modules of nestjs-cls in a process of their own, since Jest cannot load what requires ES modules. */
async function runProgram(url: string): Promise<unknown> {
  const folder = fileURLToPath(new URL('../../../node_modules/.cache/ambient-transactions', import.meta.url));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  for (const name of ['ambient-transactions.cls', 'ambient-transactions.cls-program']) {
    const { code } = await transformFile(fileURLToPath(new URL(`${name}.ts`, import.meta.url)), {
      module: { type: 'es6' },
      jsc: {
        ...{ target: 'es2022', parser: { syntax: 'typescript', decorators: true } },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
    });
    await writeFile(join(folder, `${name}.js`), code);
  }
  const env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: url };
  const { stdout } = await run(process.execPath, [join(folder, 'ambient-transactions.cls-program.js')], {
    env,
  });
  await rm(folder, { recursive: true });
  return JSON.parse(stdout);
}
