import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/test-database.js';
import { sqlOf } from './typeorm/typeorm-database.js';
import { DataSource } from 'typeorm';
import { migrate } from './setup/migrate.js';
import { SQL } from './sql.generated.js';
import { type SqlName, sqlText } from './sql-texts.js';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  await migrate(sqlOf(application), 'saga');
  await application.destroy();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

const NAMES = Object.keys(SQL) as SqlName[];
const isFunction = (name: SqlName) => /^(CREATE|ALTER)/.test(SQL[name].text);

describe('a statement of the .sql files', () => {
  test.each(NAMES.filter(isFunction))('creates a function that PostgreSQL accepts: %s', async (name) => {
    await client.query('BEGIN');
    await client.query('SET LOCAL check_function_bodies = on');
    await expect(client.query(sqlText(name, 'saga'))).resolves.toBeDefined();
    await client.query('ROLLBACK');
  });
});
