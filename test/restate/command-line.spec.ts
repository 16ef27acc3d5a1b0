import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Approval,
  Saga,
  SagaModule,
  SagaService,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../libs/saga/src/index.js';
import { restateEngine } from '../../libs/restate/src/index.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { type Called, type Ended, saga } from '../cli/support/saga-bin.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import '../support/with-resolvers.mjs';

/** Node finds the package from here. */
const DIST = fileURLToPath(new URL('dist', import.meta.url));
const WITH_RESOLVERS = fileURLToPath(new URL('../support/with-resolvers.mjs', import.meta.url));
const program = restateProgram();

let accepts = false;

@Saga({ name: 'order' })
class OrderSaga {
  @Step({ retry: { attempts: 1 }, pivot: true })
  charge({ input }: StepContext<{ readonly n: number }>): string {
    if (!accepts) throw new StepRejectedError('declined');
    return `charged ${input.n}`;
  }
  @Step({ retry: { attempts: 1 } })
  ship(): void {
    if (!accepts) throw new Error('no van');
  }
  @Approval()
  confirm(): void {}
}

@Saga({ name: 'booking' })
class BookingSaga {
  @Step({ transactional: true })
  book(): void {}
}

const describeWhere = program ? describe : describe.skip;

describeWhere('the command line on Restate', () => {
  let server: RestateServer;
  let folder: string;
  let nest: INestApplicationContext;

  async function start(...sagas: (typeof OrderSaga | typeof BookingSaga)[]) {
    const { ingress, admin } = server;
    const engine = restateEngine({ ingress, admin, port: 0 });
    const imports = [SagaModule.forRoot({ engine })];
    if (database) imports.unshift(TypeOrmModule.forRoot({ type: 'postgres', url: database.url }));
    @Module({ imports, providers: sagas })
    class AppModule {}
    nest = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
    return nest.get(SagaService);
  }
  let database: TestDatabase | undefined;

  function run(words: string, more: Called = {}): Promise<Ended> {
    const environment = { NODE_OPTIONS: `--import ${WITH_RESOLVERS}`, ...more.environment };
    return saga([...words.split(' '), '--engine', join(folder, 'engine.mjs')], { ...more, environment });
  }

  beforeAll(async () => {
    server = await RestateServer.start(program!);
    await mkdir(DIST, { recursive: true });
    folder = await mkdtemp(join(DIST, 'cli-'));
    const options = JSON.stringify({ ingress: server.ingress, admin: server.admin });
    await writeFile(
      join(folder, 'engine.mjs'),
      `import { restateEngine } from 'nestjs-durable-saga-restate';\nexport default restateEngine(${options});`,
    );
  });
  afterEach(() => nest?.close());
  afterAll(async () => {
    await server?.stop();
    await database?.drop();
    if (folder) await rm(folder, { recursive: true });
  });

  test('shows sagas and acts on them, and serves Restate nothing', async () => {
    accepts = true;
    const sagas = await start(OrderSaga);
    const { id } = await sagas.start(OrderSaga, { n: 7 }, { correlationId: 'order-7' });
    const listed = await run('list --json');
    expect([listed.error, listed.code]).toEqual(['', 0]);
    expect(JSON.parse(listed.out)).toMatchObject({ items: [{ id, saga: 'order' }] });
    const approved = await run('approve order/order-7 confirm');
    expect([approved.error, approved.code]).toEqual(['', 0]);
    const watched = await run(`watch ${id}`);
    expect(watched.code).toBe(0);
    const shown = await run('show order/order-7 --payloads');
    expect(shown.out).toMatch(/completed[^]*charged 7/);
    const history = await run(`history ${id} --json`);
    expect(JSON.parse(history.out)).toMatchObject([{ action: 'approve', by: 'ann' }]);
    const { deployments } = (await (await fetch(new URL('/deployments', server.admin))).json()) as {
      deployments: unknown[];
    };
    expect(deployments).toHaveLength(1);
  });

  test('lets a saga go on that has stopped, and says what is refused', async () => {
    accepts = false;
    const sagas = await start(OrderSaga);
    const { id } = await sagas.start(OrderSaga, { n: 8 });
    await sagas.wait(id).catch(() => undefined);
    const refused = await run(`retry ${id}`);
    expect([refused.code, refused.error]).toEqual([1, expect.stringContaining('SAGA_STATE')]);
    expect((await run('graph accept order@1')).code).toBe(0);
    expect((await run('graph accept other@1')).error).toContain('No graph of other@1 is stored');
  });

  test('acts on sagas with transactional steps only if it has the database of the applications', async () => {
    database = await createTestDatabase();
    const sagas = await start(OrderSaga, BookingSaga);
    const { id } = await sagas.start(BookingSaga, undefined);
    await sagas.wait(id);
    const without = await run(`show ${id}`);
    expect([without.code, without.error]).toEqual([2, expect.stringContaining('Give the database as --url')]);
    const shown = await run(`show ${id}`, { environment: { DATABASE_URL: database.url } });
    expect([shown.error, shown.code]).toEqual(['', 0]);
    expect(shown.out).toContain('completed');
  });
});
