import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import { EngineSql } from './engine-sql.js';
import { PgDatabase } from './pg-database.js';

let database: TestDatabase;
let pool: pg.Pool;
let sql: EngineSql;
beforeAll(async () => (database = await createTestDatabase()));
afterAll(() => database.drop());
beforeEach(() => {
  pool = new pg.Pool({ connectionString: database.url, max: 1 });
  sql = new EngineSql(new PgDatabase(pool));
});
afterEach(() => pool.end());

const failing = (code: string) => `DO $$ BEGIN RAISE 'no' USING ERRCODE = '${code}'; END $$`;
const WAYS = {
  'a statement': (code: string) => sql.query(failing(code)),
  'a transaction': (code: string) => sql.transaction((within) => within.query(failing(code))),
};

describe.each(Object.entries(WAYS))('the connection of %s', (_, fail) => {
  test.each(['25006', 'XX000', '42501'])(
    'is closed after %s: the next one may lead to another server',
    async (code) => {
      await expect(fail(code)).rejects.toMatchObject({ code });
      expect(pool.totalCount).toBe(0);
    },
  );

  test.each(['23505', '40001', '40P01', '55P03'])('is kept after %s', async (code) => {
    await expect(fail(code)).rejects.toMatchObject({ code });
    expect(pool.totalCount).toBe(1);
  });
});

test('a pool that the application has ended is no outage: the error says what to do', async () => {
  const ended = new pg.Pool({ connectionString: database.url });
  const late = new EngineSql(new PgDatabase(ended));
  await ended.end();
  await expect(late.query('SELECT 1')).rejects.toMatchObject({ code: 'SAGA_UNAVAILABLE' });
});
