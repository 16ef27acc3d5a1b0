import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as migrateByDrizzle } from 'drizzle-orm/node-postgres/migrator';
import knex from 'knex';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { Saga, Step, WaitFor } from '../../libs/saga/src/index.js';
import { TestApps } from '../support/test-app.js';
import { sagaHere, sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const here = sagaHereOn(apps);

/** Also waits for a signal, whose function was written so that Knex leaves it as it is. */
@Saga({ name: 'place-order' })
class PlaceOrder {
  @Step({ transactional: true }) reserve() {
    return 'reserved';
  }
  @WaitFor({ signal: 'paid' }) paid(_: unknown, payment: string) {
    return payment;
  }
}

/** The text that `saga migrate --sql` prints, with nothing else on either stream. */
async function printed(schema: string): Promise<string> {
  const { code, out, error } = await sagaHere(['migrate', '--sql', '--schema', schema]);
  expect([code, error]).toEqual([0, '']);
  return out;
}

/** All that a schema has, with its name left out. */
async function catalogOf(schema: string): Promise<object[]> {
  const parts = await apps.sql(
    `SELECT replace(what, $1::text, '') AS what FROM (
       SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.pronamespace = to_regnamespace($1) UNION ALL
       SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       WHERE c.relnamespace = to_regnamespace($1) UNION ALL
       SELECT concat_ws(' ', c.relname, c.relkind, c.reloptions, a.attname, a.attnum, a.attnotnull, a.attidentity,
         format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid))
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
       LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
       WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'S') UNION ALL
       SELECT concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
       WHERE connamespace = to_regnamespace($1)) all_of_it(what) ORDER BY 1`,
    [schema],
  );
  expect(parts.length).toBeGreaterThan(100);
  return parts;
}

const recordedIn = (schema: string) =>
  apps.sql(`SELECT id, "timestamp", name FROM ${schema}.migration ORDER BY id`);

/** Runs a saga on the tables of a schema, in an application that may not change them. */
async function runsASaga(schema: string): Promise<void> {
  const app = await apps.start({ sagas: [PlaceOrder], options: { schema, migrate: false } });
  const { id, outcome } = await app.sagas.start(PlaceOrder, {});
  await app.sagas.signal(id, 'paid', 'p-1');
  expect(await outcome({ timeout: '30s' })).toMatchObject({
    status: 'completed',
    results: { reserve: 'reserved', paid: 'p-1' },
  });
  await app.close();
}

/** By the simple protocol, as psql sends a file with -1. */
async function execute(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: apps.url });
  await client.connect();
  try {
    await client.query(`BEGIN; ${text}; COMMIT`);
  } finally {
    await client.end();
  }
}

describe('the SQL that saga migrate --sql prints', () => {
  beforeAll(async () => {
    expect((await here('migrate --schema migrated')).code).toBe(0);
  });

  test('makes an empty database the same as saga migrate makes it, and sagas run there', async () => {
    await execute(await printed('printed'));
    expect(await catalogOf('printed')).toEqual(await catalogOf('migrated'));
    expect(await recordedIn('printed')).toEqual(await recordedIn('migrated'));
    await runsASaga('printed');
  });

  test('leaves nothing to do for a process that migrates at its start-up', async () => {
    await execute(await printed('at_start'));
    const before = [await catalogOf('at_start'), await recordedIn('at_start')];
    const app = await apps.start({ sagas: [PlaceOrder], options: { schema: 'at_start', migrate: true } });
    await app.close();
    expect([await catalogOf('at_start'), await recordedIn('at_start')]).toEqual(before);
    expect((await here('migrate --schema at_start')).out).toBe(`Schema 'at_start' was already up to date\n`);
  });

  test('changes nothing when it is run again, or where saga migrate has run', async () => {
    const before = [await catalogOf('migrated'), await recordedIn('migrated')];
    await execute(await printed('migrated'));
    expect([await catalogOf('migrated'), await recordedIn('migrated')]).toEqual(before);
  });

  test('is for the schema saga unless --schema names another one', async () => {
    const { out } = await sagaHere(['migrate', '--sql']);
    expect(out.replaceAll('saga', 'shop')).toBe((await printed('shop')).replaceAll('saga', 'shop'));
  });

  describe('can be run by', () => {
    test('Knex, as knex.raw(text)', async () => {
      const db = knex({ client: 'pg', connection: apps.url });
      const text = await printed('by_knex');
      try {
        await db.transaction((transaction) => transaction.raw(text));
      } finally {
        await db.destroy();
      }
      expect(await catalogOf('by_knex')).toEqual(await catalogOf('migrated'));
      await runsASaga('by_knex');
    });

    test('Kysely, as sql.raw(text)', async () => {
      const pool = new pg.Pool({ connectionString: apps.url });
      const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
      const text = await printed('by_kysely');
      try {
        await db.transaction().execute((transaction) => sql.raw(text).execute(transaction));
      } finally {
        await db.destroy();
      }
      expect(await catalogOf('by_kysely')).toEqual(await catalogOf('migrated'));
    });

    test('Drizzle, as a custom migration', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'saga-drizzle-'));
      const pool = new pg.Pool({ connectionString: apps.url });
      try {
        await mkdir(join(folder, 'meta'));
        const entries = [{ idx: 0, version: '7', when: 1, tag: '0000_sagas', breakpoints: true }];
        await writeFile(
          join(folder, 'meta/_journal.json'),
          JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
        );
        await writeFile(join(folder, '0000_sagas.sql'), await printed('by_drizzle'));
        await migrateByDrizzle(drizzle({ client: pool }), { migrationsFolder: folder });
      } finally {
        await pool.end();
        await rm(folder, { recursive: true });
      }
      expect(await catalogOf('by_drizzle')).toEqual(await catalogOf('migrated'));
    });
  });
});

describe('saga migrate --sql refuses', () => {
  test.each([
    [['--url', 'postgres://localhost/shop'], /--url cannot be given with --sql/],
    [['--check'], /--check cannot be given with --sql/],
    [['--json'], /--json cannot be given with --sql/],
    [['--partitions', 'daily'], /--partitions cannot be given with --sql: .* Run saga migrate --partitions/],
    [['--schema', 'Shop"'], /--schema 'Shop"' is not a valid schema name/],
  ])('%j', async (more, message) => {
    const { code, out, error } = await sagaHere(['migrate', '--sql', ...more]);
    expect([code, out]).toEqual([2, '']);
    expect(error).toMatch(message);
  });
});
