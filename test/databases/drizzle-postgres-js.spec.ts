import { inspect } from 'node:util';
import { eq, sql } from 'drizzle-orm';
import { customType, jsonb, numeric, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { drizzleDatabase, type DrizzleTransaction } from '../../libs/saga/src/databases/drizzle/index.js';
import { Saga, Step, type TransactionalStepContext } from '../../libs/saga/src/index.js';
import { describeDatabase } from './contract/database.contract.js';
import { LayerApps } from './contract/layer-apps.js';
import { DRIZZLE_POSTGRES_JS } from './layers/drizzle-postgres-js.layer.js';

describeDatabase(DRIZZLE_POSTGRES_JS);

const bytes = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' });
const thing = pgTable('thing', {
  id: text().primaryKey(),
  at: timestamp({ withTimezone: true }),
  value: jsonb(),
  tags: text().array(),
  price: numeric(),
  data: bytes(),
});
const THING = {
  ...{ id: 'a', at: new Date('2026-11-25T03:04:05.678Z'), value: { text: "it's", list: [1, null] } },
  ...{ tags: ['x,y', '"z"'], price: '12.50', data: Buffer.from([0, 1, 255]) },
};
const RAW = sql.raw(`
  SELECT 9007199254740993 AS big, 2 AS small, 1.5::float8 AS real, 1.20 AS exact, true AS yes, NULL AS none,
    '{"a": [1]}'::jsonb AS json, '\\x00ff'::bytea AS bytes, '2026-11-25 03:04:05+00'::timestamptz AS at,
    '2026-11-25'::date AS day, ARRAY[1, 2] AS numbers, ARRAY['a,b', NULL] AS texts, 'a'::"char" AS letter`);

type Database = ReturnType<typeof drizzle>;
type Transaction = DrizzleTransaction<Database>;

let seen: unknown;

/** Sees what the transaction of its step answers. */
@Saga({ name: 'look', retry: { attempts: 1 } })
class Look {
  @Step({ transactional: true })
  async look({ transaction }: TransactionalStepContext<object, Look, Transaction>) {
    seen = await look(transaction);
  }
}

async function look(transaction: Transaction) {
  await transaction.insert(thing).values(THING);
  const [row] = await transaction.select().from(thing).where(eq(thing.id, 'a'));
  const { count } = await transaction.update(thing).set({ price: '1' });
  const rows = await transaction.execute(RAW);
  const { count: counted, command, columns } = rows;
  const names = columns.map(({ name }) => name);
  // A savepoint fails with the error of a statement, even if the error was caught.
  const nested = transaction.transaction(async (own) => {
    await own.execute(sql`SELECT 1 / 0`).catch(() => undefined);
  });
  const failure: unknown = await nested.catch((error: Error) => (error.cause ?? error) as Error);
  const { message } = failure as Error;
  await transaction.delete(thing);
  return { row, count, rows: [...rows], counted, command, names, message };
}

describe('Drizzle over postgres.js', () => {
  const apps = LayerApps.of(DRIZZLE_POSTGRES_JS);
  beforeAll(() =>
    apps.sql(
      'CREATE TABLE thing (id text, at timestamptz, value jsonb, tags text[], price numeric, data bytea)',
    ),
  );

  test('answers in the transaction of a step what it answers in one of the application', async () => {
    const { sagas, layer } = await apps.start({ sagas: [Look] });
    expect(await (await sagas.start(Look, {})).outcome()).toMatchObject({ status: 'completed' });
    const own = await (layer.source as Database).transaction((transaction) => look(transaction));
    expect(seen).toEqual(own);
    expect(own).toMatchObject({ row: THING, count: 1, counted: 1, message: 'division by zero' });
  });
});

/** Types of the application that change all that is written and read. */
const SPOILED = { to: 25, from: [16, 20, 23, 25, 2950, 3802], serialize: () => '?', parse: () => '?' };

const ALTERED = {
  name: 'Drizzle over a postgres.js with types of the application',
  open: async (url: string) => {
    const client = postgres(url, {
      max: 3,
      types: { spoiled: SPOILED },
      connection: { search_path: 'none' },
    });
    const db = drizzle({ client });
    return {
      ...{ database: drizzleDatabase(db), source: db, close: () => client.end() },
      transaction: <T>(work: (transaction: Transaction) => Promise<T>) => db.transaction(work),
      nested: () => Promise.reject(new Error('is not used')),
      ...{ write: () => Promise.resolve(), fail: () => Promise.resolve() },
      readOnly: (tx: Transaction) => tx.execute(sql.raw('SET TRANSACTION READ ONLY')),
    };
  },
};

describe(ALTERED.name, () => {
  const apps = LayerApps.of(ALTERED);

  @Saga({ name: 'order' })
  class Order {
    @Step() keep({ input }: { input: unknown }) {
      return input;
    }
  }
  const input = { text: `"quoted", \\ and it's`, big: 1e21, nothing: null, list: [{ deep: [] }] };

  test('neither parses nor serializes what sagas store in a transaction of the application', async () => {
    const { sagas, layer, outbox, inbox } = await apps.start({ sagas: [Order] });
    const { handle, handled } = await layer.transaction(async (transaction) => ({
      handle: await sagas.start(Order, input, { transaction, tags: { 'a"b': '{c,\\d}' }, priority: 7 }),
      ...(await inbox.once('m"1', transaction, () => undefined)),
      published: await outbox.publish(transaction, { topic: 'orders', payload: input, headers: { x: 'y' } }),
    }));
    expect(handled).toBe(true);
    expect((await handle.outcome()).results).toEqual({ keep: input });
    expect(await sagas.get(handle.id)).toMatchObject({ input, tags: { 'a"b': '{c,\\d}' }, priority: 7 });
    const [message] = await apps.sql<{ payload: unknown }>('SELECT payload FROM saga.outbox');
    expect(message!.payload).toEqual(input);
  });

  test('shows no values in an error', async () => {
    const { sagas, layer } = await apps.start({ sagas: [Order] });
    const failed = layer.transaction(async (transaction) => {
      await layer.readOnly(transaction);
      return sagas.start(Order, { card: 'secret' }, { transaction });
    });
    const error: unknown = await failed.catch((one: unknown) => one);
    expect(error).toMatchObject({ code: '25006' });
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain('secret');
  });
});
