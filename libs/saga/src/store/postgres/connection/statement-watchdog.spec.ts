import pg from 'pg';
import { until } from '../../../../../../test/support/gate.js';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import { watchdogOf } from './statement-watchdog.js';
import type { PgPool } from './pg-types.js';

const BOUND = 200;

describe('what the engine asks of PostgreSQL', () => {
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url });
    // As SagaModule does.
    pool.on('acquire', (client) => client.on('error', () => undefined));
    // pool.end() resolves before the connections are closed, and drop() ends the rest of them.
    pool.on('error', () => undefined);
    await pool.query('CREATE TABLE item (id int PRIMARY KEY)');
    await pool.query('INSERT INTO item VALUES (1)');
  });

  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const ask = (text: string) =>
    watchdogOf(pool as unknown as PgPool).send<{ n: number }>({ name: text, text, values: [] });

  test('takes as long as it takes while no bound is set, as for migrations', async () => {
    expect((await ask('SELECT 1 AS n FROM pg_sleep(0.5)')).rows).toEqual([{ n: 1 }]);
  });

  test('fails as on a lost connection when there is no answer within the bound, and its connection is not used again', async () => {
    watchdogOf(pool as unknown as PgPool).setStatementTimeout(BOUND);
    const before = pool.totalCount;
    await expect(ask('SELECT 1 AS n FROM pg_sleep(60)')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(pool.totalCount).toBe(before - 1);
    expect((await ask('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
  });

  test('does not pile up in the server when it waits for a lock', async () => {
    // Long enough for the statement to be running, on a busy machine as well.
    watchdogOf(pool as unknown as PgPool).setStatementTimeout(10 * BOUND);
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN; SELECT FROM item FOR UPDATE');
    await expect(ask('UPDATE item SET id = 2')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await until(async () => {
      const { rows } = await pool.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'UPDATE item%' AND state = 'active' AND pid <> pg_backend_pid()`,
      );
      return rows[0]!.n === 0;
    });
    await other.end();
  });

  test('is not taken for unanswered because this process stood still meanwhile', async () => {
    watchdogOf(pool as unknown as PgPool).setStatementTimeout(BOUND);
    const answer = ask('SELECT 1 AS n FROM pg_sleep(0.1)');
    // Once it is running.
    await until(async () => pool.totalCount > pool.idleCount);
    const end = performance.now() + 10 * BOUND;
    while (performance.now() < end);
    expect((await answer).rows).toEqual([{ n: 1 }]);
  });
});
