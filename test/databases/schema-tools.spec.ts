import { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';
import { DataSource, EntitySchema } from 'typeorm';
import { mikroOrmDatabase } from '../../libs/saga/src/databases/mikro-orm/index.js';
import { EngineSql } from '../../libs/saga/src/store/postgres/connection/engine-sql.js';
import { PgDatabase } from '../../libs/saga/src/store/postgres/connection/pg-database.js';
import { sagaEntities } from '../../libs/saga/src/store/postgres/schema/saga-entities.js';
import { sqlOf } from '../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { SAGA_NEEDS } from '../../libs/saga/src/store/postgres/setup/needs.js';
import { prepareTables } from '../../libs/saga/src/store/postgres/setup/migrate.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { EFFECT } from './layers/mikro-orm.layer.js';

/** Tools that bring a database to the state of an application's entities, beside the tables of sagas. */
let database: TestDatabase;
let pool: pg.Pool;
const log = { warn: () => undefined };
const prepare = (sql: EngineSql) => prepareTables(sql, { schema: 'saga', migrate: true }, SAGA_NEEDS, log);
const tables = async () =>
  (await pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'saga'`))
    .rows[0]!.n;

let before = 0;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  await prepare(new EngineSql(new PgDatabase(pool)));
  before = await tables();
  expect(before).toBeGreaterThan(10);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

describe('MikroORM', () => {
  const open = (schemaGenerator?: { ignoreSchema: string[] }) =>
    MikroORM.init({
      ...{ clientUrl: database.url, entities: [EFFECT], schemaGenerator },
      discovery: { disableDynamicFileAccess: true },
    });
  const starting = (orm: MikroORM) => prepare(new EngineSql(mikroOrmDatabase(orm)));

  test('would drop the tables, so that an application does not start without ignoreSchema', async () => {
    const orm = await open();
    expect(await orm.schema.getUpdateSchemaSQL()).toContain('drop table if exists "saga"."instance"');
    await expect(starting(orm)).rejects.toThrow(
      `Add schemaGenerator: { ignoreSchema: ['saga'] } to the options of MikroORM`,
    );
    await orm.close();
    const other = await open({ ignoreSchema: ['elsewhere'] });
    await expect(starting(other)).rejects.toMatchObject({ code: 'SAGA_CONFIGURATION' });
    await other.close();
  });

  test('leaves the tables alone with it', async () => {
    const orm = await open({ ignoreSchema: ['saga'] });
    await starting(orm);
    await orm.schema.updateSchema();
    await orm.close();
    expect(await tables()).toBe(before);
  });
});

const item = new EntitySchema({ name: 'item', columns: { id: { type: 'int', primary: true } } });

test('TypeORM leaves the tables alone when it synchronizes, and when it drops its own', async () => {
  const entities = [item];
  const dataSource = await new DataSource({ type: 'postgres', url: database.url, entities }).initialize();
  await dataSource.synchronize();
  await dataSource.dropDatabase();
  await dataSource.destroy();
  expect(await tables()).toBe(before);
});

test('TypeORM drops the tables with its own if it has their entities, and the next start creates them', async () => {
  const entities = [item, ...sagaEntities()];
  const dataSource = await new DataSource({ type: 'postgres', url: database.url, entities }).initialize();
  await dataSource.synchronize();
  expect(await tables()).toBe(before);
  await dataSource.dropDatabase();
  expect(await tables()).toBe(0);
  await prepare(sqlOf(dataSource));
  expect(await tables()).toBe(before);
  await dataSource.destroy();
});
