import { jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import { sagaMigrations } from '../schema/saga-migrations.js';
import { sqlOf } from '../typeorm/typeorm-database.js';
import { migrate, missingParts } from './migrate.js';
import { partitionedNeeds, SAGA_NEEDS } from './needs.js';

let database: TestDatabase;

beforeAll(async () => (database = await createTestDatabase()));
afterAll(() => database.drop());

/** A DataSource whose own migrations are those of the sagas, in the table in which this package records them. */
async function connected(schema: string): Promise<DataSource> {
  const dataSource = await new DataSource({
    ...{ type: 'postgres', url: database.url, schema, migrationsTableName: 'migration' },
    migrations: sagaMigrations(schema, { partitions: 'daily' }),
  }).initialize();
  await dataSource.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
  return dataSource;
}

const namesIn = (dataSource: DataSource, schema: string) =>
  dataSource.query<object[]>(`SELECT id, "timestamp", name FROM "${schema}".migration ORDER BY id`);

const columnsIn = (dataSource: DataSource, schema: string) =>
  dataSource.query<object[]>(
    `SELECT a.attname, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull, c.conname,
       replace(pg_get_expr(d.adbin, d.adrelid), $1, '') AS default
     FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     LEFT JOIN pg_constraint c ON c.conrelid = a.attrelid AND a.attnum = ANY (c.conkey) AND c.contype = 'p'
     WHERE a.attrelid = to_regclass($2) AND a.attnum > 0 ORDER BY a.attnum`,
    [schema, `"${schema}".migration`],
  );

test('the table of the migrations and its rows are those that TypeORM makes', async () => {
  const [own, theirs] = [await connected('own'), await connected('theirs')];
  await migrate(sqlOf(own), 'own', partitionedNeeds('daily'));
  await theirs.runMigrations();
  expect(await columnsIn(own, 'own')).toEqual(await columnsIn(theirs, 'theirs'));
  expect(await namesIn(own, 'own')).toEqual(await namesIn(theirs, 'theirs'));
  await Promise.all([own.destroy(), theirs.destroy()]);
});

test('an application goes on where the migrations that TypeORM ran have stopped', async () => {
  const dataSource = await connected('half');
  dataSource.migrations.splice(2);
  expect(await dataSource.runMigrations()).toHaveLength(2);
  const needs = partitionedNeeds('daily');
  expect(await migrate(sqlOf(dataSource), 'half', needs)).toEqual(['PartitionSagaTables1763700000002']);
  expect(await missingParts(sqlOf(dataSource), 'half', needs)).toEqual([]);
  await dataSource.destroy();
});

test('TypeORM goes on where an application has stopped', async () => {
  const dataSource = await connected('other_half');
  await migrate(sqlOf(dataSource), 'other_half', SAGA_NEEDS);
  const applied = await dataSource.runMigrations();
  expect(applied.map(({ name }) => name)).toEqual(['PartitionSagaTables1763700000002']);
  expect(await migrate(sqlOf(dataSource), 'other_half', partitionedNeeds('daily'))).toEqual([]);
  await dataSource.destroy();
});

test('migrations print nothing with the default logger of TypeORM', async () => {
  const dataSource = await connected('quiet');
  const printed = [jest.spyOn(console, 'log'), jest.spyOn(process.stdout, 'write')];
  await migrate(sqlOf(dataSource), 'quiet', SAGA_NEEDS);
  expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([]);
  for (const spy of printed) spy.mockRestore();
  await dataSource.destroy();
});
