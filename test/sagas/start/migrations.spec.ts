import { DataSource } from 'typeorm';
import { Saga, SagaConfigurationError, type SagaModuleOptions, Step } from '../../../libs/saga/src/index.js';
import { sagaMigrations } from '../../../libs/saga/src/database.js';
import { createSagaTables } from '../../../libs/saga/src/store/postgres/schema/create-saga-tables.js';
import { migrationOf } from '../../../libs/saga/src/store/postgres/schema/saga-migrations.js';
import { SAGA_NEEDS, type SagaMigration } from '../../../libs/saga/src/store/postgres/setup/needs.js';
import { migrate, MIGRATION_LOCK } from '../../../libs/saga/src/store/postgres/setup/migrate.js';
import { sqlOf } from '../../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order' })
class Order {
  @Step() act() {
    return 'done';
  }
}

const startIn = (schema: string, given: SagaModuleOptions = {}, dataSource: object = {}) =>
  apps.start({ sagas: [Order], options: { schema, ...given }, dataSource });
const applied = (schema: string) => apps.sql(`SELECT name FROM ${schema}.migration`);
const completes = async ({ sagas }: Awaited<ReturnType<TestApps['start']>>) =>
  expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');

describe('the tables', () => {
  test('are made once by ten applications that start at this moment', async () => {
    const started = await Promise.all(Array.from({ length: 10 }, () => startIn('ten_apps')));
    expect(await applied('ten_apps')).toHaveLength(sagaMigrations().length);
    await Promise.all(started.map(completes));
  });

  test('are waited for, however short the timeouts are that the server has for statements', async () => {
    await apps.sql('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const short = { extra: { lock_timeout: 20, statement_timeout: 100 } };
    const started = startIn('waited_for', {}, short);
    const waitsForLong = `
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
        AND clock_timestamp() - query_start > interval '500 milliseconds'`;
    await Promise.race([started, until(async () => (await apps.sql(waitsForLong)).length > 0)]);
    await apps.sql('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    await completes(await started);
  });

  test('are found there by an application that starts later, and left as they are', async () => {
    const first = await startIn('later');
    const { id } = await first.sagas.start(Order, {});
    await first.sagas.wait(id);
    await first.close();
    const second = await startIn('later');
    expect((await second.sagas.get(id)).status).toBe('completed');
    expect(await applied('later')).toHaveLength(sagaMigrations().length);
  });

  test('of two schemas know nothing of each other', async () => {
    const [one, two] = [await startIn('one'), await startIn('two')];
    const { id } = await one.sagas.start(Order, {}, { correlationId: 'order-1' });
    expect((await one.sagas.wait(id)).status).toBe('completed');
    await expect(two.sagas.get(id)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
    expect(await two.sagas.start(Order, { other: 1 }, { correlationId: 'order-1' })).toMatchObject({
      created: true,
    });
  });

  test('are none of the application’s own: nothing synchronizes or generates them', async () => {
    const app = await startIn('saga', {}, { synchronize: true, dropSchema: false });
    await app.dataSource.synchronize();
    await completes(app);
    expect(app.dataSource.entityMetadatas).toEqual([]);
    expect(app.dataSource.migrations).toEqual([]);
  });
});

describe('an application that migrates by itself', () => {
  const own = (schema: string, given: object = {}) =>
    new DataSource({
      type: 'postgres',
      url: apps.url,
      migrations: sagaMigrations(schema),
      ...given,
    }).initialize();

  test('runs sagaMigrations() among its own, up and down', async () => {
    const dataSource = await own('own');
    await dataSource.runMigrations();
    const app = await startIn('own', { migrate: false });
    await completes(app);
    await app.close();
    for (const _ of sagaMigrations()) await dataSource.undoLastMigration();
    const tables = await apps.sql(`SELECT FROM information_schema.tables WHERE table_schema = 'own'`);
    const functions = await apps.sql(`SELECT FROM pg_proc WHERE pronamespace = 'own'::regnamespace`);
    expect([tables, functions]).toEqual([[], []]);
    await dataSource.runMigrations();
    await completes(await startIn('own', { migrate: false }));
    await dataSource.destroy();
  });

  test('may leave it to the module later', async () => {
    const dataSource = await own('both', { migrationsTableName: 'own_migrations' });
    await dataSource.runMigrations();
    await completes(await startIn('both'));
    await dataSource.destroy();
  });

  test('receives what is missing when it has not', async () => {
    const error = await startIn('nothing_here', { migrate: false }).then(
      undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toBeInstanceOf(SagaConfigurationError);
    expect((error as Error).message).toMatch(
      /'nothing_here' lacks .*instance, step.*sagaMigrations\('nothing_here'\)/,
    );
  });
});

describe('a schema that another build of this package made', () => {
  const names = SAGA_NEEDS.migrationsOf('any').map(({ name }) => name);

  /** Migrates a schema as a build does whose migrations are those of this one, but for what is changed. */
  async function migrateAs(schema: string, change: (migrations: SagaMigration[]) => SagaMigration[]) {
    const dataSource = await new DataSource({ type: 'postgres', url: apps.url }).initialize();
    const migrationsOf = (name: string) => change(SAGA_NEEDS.migrationsOf(name));
    await migrate(sqlOf(dataSource), schema, { ...SAGA_NEEDS, tables: [], functions: [], migrationsOf });
    await dataSource.destroy();
  }
  const made = (name: string, up: string[], marked: string, schema: string) =>
    new (migrationOf(name, up, marked, schema))() as object as SagaMigration;
  const refusal = (schema: string, given: SagaModuleOptions = {}) =>
    startIn(schema, given).then(
      () => undefined,
      (thrown: SagaConfigurationError) => [thrown.code, thrown.message],
    );

  test.each([true, false])(
    'is refused, although it has all tables and functions (migrate: %p)',
    async (own) => {
      const schema = `other_${own}`;
      const up = [
        ...createSagaTables(schema),
        `ALTER TABLE "${schema}".graph RENAME COLUMN upgrade TO other`,
      ];
      await migrateAs(schema, ([, ...rest]) => [made(names[0]!, up, 'graph', schema), ...rest]);
      expect(await refusal(schema, { migrate: own })).toEqual([
        'SAGA_CONFIGURATION',
        expect.stringMatching(new RegExp(`Schema '${schema}' .* another build .*${names[0]!}.*DROP SCHEMA`)),
      ]);
    },
  );

  test.each([true, false])(
    'is used if it is newer, and has all that this build needs (migrate: %p)',
    async (own) => {
      const schema = `newer_${own}`;
      const up = [
        `ALTER TABLE "${schema}".graph ADD COLUMN later int`,
        `CREATE FUNCTION "${schema}".start_2() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
      ];
      await migrateAs(schema, (all) => [...all, made('Later1863700000000', up, 'shard', schema)]);
      await completes(await startIn(schema, { migrate: own }));
    },
  );

  test.each([true, false])(
    'is refused if it is newer, and lacks what this build needs (migrate: %p)',
    async (own) => {
      const schema = `much_newer_${own}`;
      const up = [`DROP FUNCTION "${schema}".tasks`];
      await migrateAs(schema, (all) => [...all, made('Later1863700000000', up, 'shard', schema)]);
      expect(await refusal(schema, { migrate: own })).toEqual([
        'SAGA_CONFIGURATION',
        expect.stringMatching(new RegExp(`Schema '${schema}' lacks tasks\\(\\)`)),
      ]);
    },
  );
});

describe('a role that may not create', () => {
  const asRole = (): object => {
    const url = new URL(apps.url);
    [url.username, url.password] = ['clerk', 'secret'];
    return { url: url.href };
  };

  beforeAll(async () => {
    await apps.sql(`DROP ROLE IF EXISTS clerk`);
    await apps.sql(`CREATE ROLE clerk LOGIN PASSWORD 'secret'`);
  });
  afterAll(async () => {
    await apps.sql('DROP OWNED BY clerk');
    await apps.sql('DROP ROLE clerk');
  });

  test('receives an error with the fix', async () => {
    const error = await startIn('forbidden', {}, asRole()).then(undefined, (thrown: Error) => thrown);
    expect(error).toBeInstanceOf(SagaConfigurationError);
    expect((error as Error).message).toMatch(/may not create.*'forbidden'.*Grant CREATE.*migrate: false/);
  });

  test('can work once all is there, with or without migrate: false', async () => {
    const application = await new DataSource({ type: 'postgres', url: apps.url }).initialize();
    await migrate(sqlOf(application), 'granted');
    await application.destroy();
    await apps.sql('GRANT USAGE ON SCHEMA granted TO clerk');
    await apps.sql('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA granted TO clerk');
    await apps.sql('GRANT USAGE ON ALL SEQUENCES IN SCHEMA granted TO clerk');
    await completes(await startIn('granted', { migrate: false }, asRole()));
    await completes(await startIn('granted', {}, asRole()));
  });

  test('receives the same error if it may not even read the schema', async () => {
    await apps.sql('REVOKE USAGE ON SCHEMA granted FROM clerk');
    const refused = await startIn('granted', { migrate: false }, asRole()).then(
      undefined,
      (thrown: Error) => thrown,
    );
    expect(refused).toBeInstanceOf(SagaConfigurationError);
  });
});
