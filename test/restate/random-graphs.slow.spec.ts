import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { freePort } from '../../libs/cli/src/postgres/free-port.js';
import { restateEngine } from '../../libs/restate/src/index.js';
import { pgDatabase } from '../../libs/saga/src/databases/pg/index.js';
import {
  SagaModule,
  type SagaModuleOptions,
  SagaOperations,
  SagaService,
} from '../../libs/saga/src/index.js';
import { describeRandomGraphs } from '../graphs/describe-random-graphs.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import '../support/with-resolvers.mjs';

const program = restateProgram();
let server: RestateServer;
let database: TestDatabase;
let pool: pg.Pool;
/** Transactional steps that are held have a connection each. */
const CONNECTIONS = 80;
/** Each application has the address of the one before it. */
let port: number;
const open = new Set<INestApplicationContext>();

async function start(sagas: Type[], options: SagaModuleOptions) {
  const { ingress, admin } = server;
  const engine = restateEngine({ ingress, admin, port });
  @Module({
    imports: [SagaModule.forRoot({ engine, database: pgDatabase(pool), ...options })],
    providers: sagas,
  })
  class AppModule {}
  const nest = await NestFactory.createApplicationContext(AppModule, {
    logger: false,
    abortOnError: false,
  });
  open.add(nest);
  const close = async () => {
    open.delete(nest);
    await nest.close();
  };
  return { nest, sagas: nest.get(SagaService), operations: nest.get(SagaOperations), close };
}

const describeWhere = program ? describe : describe.skip;

describeWhere('on Restate', () => {
  // Sagas of the same name have other graphs in each test.
  beforeEach(async () => {
    server = await RestateServer.start(program!);
    port = await freePort();
  });
  afterEach(async () => {
    for (const nest of open) await nest.close();
    open.clear();
    await server.stop();
  });
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url, max: CONNECTIONS });
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  describeRandomGraphs(start);
});
