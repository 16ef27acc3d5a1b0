import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { drizzle } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import { drizzle as overProxy } from 'drizzle-orm/pg-proxy';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import postgres from 'postgres';
import { SagaConfigurationError } from '../errors.js';
import { drizzleDatabase } from './drizzle/index.js';
import { knexDatabase } from './knex/index.js';
import { kyselyDatabase } from './kysely/index.js';
import { mikroOrmDatabase } from './mikro-orm/index.js';
import { prismaDatabase } from './prisma/index.js';

const EFFECT = new EntitySchema({ name: 'Effect', properties: { id: { type: 'number', primary: true } } });
const pool = new pg.Pool({ connectionString: 'postgres://app:secret@nowhere/shop', max: 7 });
const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });

const MAKERS = { drizzleDatabase, kyselyDatabase, knexDatabase, mikroOrmDatabase, prismaDatabase };

/** What is used of MikroORM 7, which runs on newer versions of Node than the tests: it shows no Knex. */
function mikroOrm7() {
  const method = () => undefined;
  const em = { fork: method, transactional: method, getTransactionContext: method };
  return { em: { ...em, getConnection: () => ({}), config: new Map() } };
}

/** Callers without a compiler. */
const problemOf = (make: (given: never) => unknown, given?: unknown): string => {
  try {
    make(given as never);
  } catch (error) {
    expect(error).toBeInstanceOf(SagaConfigurationError);
    return (error as Error).message;
  }
  return 'nothing';
};

describe('what is no object of the layer is refused, and the error shows no secret', () => {
  test.each([
    ['drizzleDatabase', 'db', 'a Kysely', db],
    ['drizzleDatabase', 'db', 'a Pool of pg', pool],
    ['drizzleDatabase', 'db', 'undefined', undefined],
    ['drizzleDatabase', 'db', 'a database of Drizzle', drizzle({ client: new pg.Client() })],
    ['drizzleDatabase', 'db', 'a database of Drizzle', overProxy(async () => ({ rows: [] }))],
    ['kyselyDatabase', 'db', 'a Pool of pg', pool],
    ['kyselyDatabase', 'pool', 'undefined', db],
    ['knexDatabase', 'knex', 'a Pool of pg', pool],
    ['knexDatabase', 'knex', 'null', null],
    ['mikroOrmDatabase', 'orm', 'a Pool of pg', pool],
    ['mikroOrmDatabase', 'orm', 'undefined', undefined],
    ['prismaDatabase', 'prisma', 'a Pool of pg', pool],
    ['prismaDatabase', 'prisma', 'null', null],
    ['mikroOrmDatabase', 'pool', 'undefined', mikroOrm7()],
  ] as const)('by %s(): %s is %s', (name, parameter, what, given) => {
    const message = problemOf(MAKERS[name] as (given: never) => unknown, given);
    expect(message).toMatch(new RegExp(`^${name}\\(\\): ${parameter} is ${what}; give (a|the) `));
    expect(message).not.toContain('secret');
  });

  test('a MikroORM whose password is a function or whose transactions are disabled', () => {
    const options = { clientUrl: 'postgres://app@nowhere/shop', entities: [EFFECT], connect: false };
    const dynamic = MikroORM.initSync({ ...options, password: () => 'secret' });
    expect(problemOf(mikroOrmDatabase, dynamic)).toContain('the password of MikroORM is a function');
    const disabled = MikroORM.initSync({ ...options, disableTransactions: true });
    expect(problemOf(mikroOrmDatabase, disabled)).toContain('the transactions of MikroORM are disabled');
  });

  test('a PrismaClient whose adapter opens a pool of its own, unless its pool is given', () => {
    const prisma = { $transaction: () => undefined, $queryRawUnsafe: () => undefined };
    const own = { ...prisma, _engineConfig: { adapter: { externalPool: null } } };
    for (const client of [prisma, own])
      expect(problemOf(prismaDatabase, client)).toContain(
        'the adapter of prisma has no Pool of pg that sagas can share',
      );
    expect(prismaDatabase(own as never, pool).pool).toBe(pool);
    expect(problemOf((given) => prismaDatabase(given, {} as never), own)).toContain(
      'pool is an object of the class Object',
    );
  });

  test('a Knex whose connection is a function, since LISTEN connects with it', () => {
    const dynamic = knex({ client: 'pg', connection: async () => ({ host: 'nowhere' }) });
    expect(problemOf(knexDatabase, dynamic)).toContain('the connection of Knex is a function');
  });
});

/** A pool that connects when it is used, which it is not. */
const postgresJs = (options: postgres.Options<Record<string, postgres.PostgresType>> = {}) =>
  overPostgresJs({ client: postgres('postgres://app:secret@nowhere:6000/shop', options) });

describe('the pool beside postgres.js', () => {
  test('has its settings, and is ended with it', async () => {
    const session = { application_name: 'shop', search_path: 'shop, public', work_mem: '8MB' };
    const given = postgresJs({ max: 7, ssl: 'require', connect_timeout: 3, connection: session });
    const own = drizzleDatabase(given).pool as unknown as pg.Pool;
    expect(own.options).toMatchObject({
      ...{ host: 'nowhere', port: 6000, database: 'shop', user: 'app', password: 'secret', max: 7 },
      ...{ ssl: { rejectUnauthorized: false }, connectionTimeoutMillis: 3_000, application_name: 'shop' },
      options: '-c search_path=shop,\\ public -c work_mem=8MB',
    });
    await given.$client.end();
    expect(own.ended).toBe(true);
  });

  test('is the one that was given, which the application ends', async () => {
    const given = postgresJs({ ssl: 'prefer' });
    expect(drizzleDatabase(given, pool).pool).toBe(pool);
    await given.$client.end();
    expect(pool.ended).toBe(false);
  });

  test('is refused for settings that pg does not have, unless it is given', () => {
    const given = postgresJs({ host: 'a,b', ssl: 'prefer' });
    expect(problemOf(drizzleDatabase, given)).toBe(
      "drizzleDatabase(): pg does not have what postgres.js is set to: several hosts, ssl: 'prefer'. " +
        'Give the Pool of pg that sagas are to use: drizzleDatabase(db, new Pool({ … })).',
    );
    expect(problemOf((one) => drizzleDatabase(one, {} as never), postgresJs())).toMatch(
      /^drizzleDatabase\(\): pool is an object of the class Object; give a Pool of pg/,
    );
    expect(problemOf((one) => drizzleDatabase(one, pool), drizzle({ client: pool }))).toContain(
      'leave it out',
    );
  });

  test('is refused if postgres.js changes the names of columns, which are those of sagas as well', () => {
    expect(problemOf(drizzleDatabase, postgresJs({ transform: postgres.camel }))).toContain(
      'postgres.js transforms each column and value that it reads',
    );
  });
});

test('the pool of Knex has its settings, the password included, and its maximum', () => {
  const { pool: own } = knexDatabase(
    knex({
      client: 'pg',
      connection: { host: 'nowhere', user: 'app', password: 'secret' },
      pool: { max: 7 },
    }),
  );
  expect(own.options.max).toBe(7);
  const { connectionParameters } = new own.Client(own.options) as unknown as pg.Client & {
    connectionParameters: object;
  };
  expect(connectionParameters).toMatchObject({ host: 'nowhere', user: 'app', password: 'secret' });
});
