import pg from 'pg';
import { DataSource } from 'typeorm';
import { pgDatabase } from '../databases/pg/index.js';
import { withMessagingDefaults } from '../../../messaging/src/messaging.options.js';
import { withDefaults } from './saga.options.js';

const pool = new pg.Pool({ connectionString: 'postgres://app:secret@nowhere/shop' });
const dataSource = new DataSource({ type: 'postgres', url: 'postgres://app:secret@nowhere/shop' });
/** Callers without a compiler. */
const given = (database: unknown, rest: object = {}) => ({ database: database as never, ...rest });

const MODULES = [
  ['SagaModule', withDefaults],
  ['SagaMessagingModule', (options: object) => withMessagingDefaults({ relay: false, ...options })],
] as const;

describe.each(MODULES)('the option database of %s', (name, read) => {
  test('takes the database of an entry', () => {
    const database = pgDatabase(pool);
    expect(read({ database }).database).toBe(database);
    expect(read({}).database).toBeUndefined();
  });

  test('names the adapter of what it was given instead, and shows no secret', () => {
    const problemOf = (options: object): string => {
      try {
        read(options);
      } catch (error) {
        return (error as Error).message;
      }
      return 'nothing';
    };
    expect(problemOf(given(pool))).toBe(
      `${name}: database is a Pool of pg. For pg, give forRoot({ database: pgDatabase(pool) }), with pgDatabase ` +
        `of nestjs-durable-saga/pg.`,
    );
    expect(problemOf(given(dataSource))).toContain(
      'database is a DataSource of TypeORM. For TypeORM, remove',
    );
    expect(problemOf(given({ password: 'secret' }))).toBe(
      `${name}: database is an object of the class Object. Give the database of an entry, such as ` +
        `pgDatabase(pool) of nestjs-durable-saga/pg.`,
    );
    expect(problemOf(given(null))).toContain('database is null.');
    expect(problemOf(given(pgDatabase(pool), { dataSource: 'main' }))).toContain(
      'database and dataSource are both set; set only one of them',
    );
    const hostile = new Proxy({}, { has: () => { throw new Error('trapped'); } }); // prettier-ignore
    expect(problemOf(given(hostile))).toContain(`${name}: `);
  });
});

describe('the option readFrom of SagaModule', () => {
  const problemOf = (options: object): string => {
    try {
      withDefaults(options);
    } catch (error) {
      return (error as Error).message;
    }
    return 'nothing';
  };

  test('takes the database of an entry, or with TypeORM the name of a DataSource', () => {
    const readFrom = pgDatabase(pool);
    expect(withDefaults({ readFrom }).readFrom).toBe(readFrom);
    expect(withDefaults({ readFrom, database: pgDatabase(pool) }).readFrom).toBe(readFrom);
    expect(withDefaults({ readFrom: 'standby' }).readFrom).toBe('standby');
    expect(withDefaults({}).readFrom).toBeUndefined();
  });

  test('says what to give instead of anything else', () => {
    expect(problemOf({ readFrom: 'standby', database: pgDatabase(pool) })).toBe(
      "SagaModule: readFrom is 'standby', but database is set. Give the database of an entry, such as " +
        'pgDatabase(pool) of nestjs-durable-saga/pg.',
    );
    expect(problemOf({ readFrom: pool })).toBe(
      'SagaModule: readFrom is a Pool of pg. Give the database of an entry, such as pgDatabase(pool) of ' +
        'nestjs-durable-saga/pg. With TypeORM, give the name of a DataSource.',
    );
  });
});

test('pgDatabase() takes a Pool of pg, and nothing else', () => {
  expect(() => pgDatabase('postgres://localhost' as never)).toThrow(
    "pgDatabase(): pool is 'postgres://localhost'; give a Pool of pg: new Pool({ connectionString }).",
  );
  expect(() => pgDatabase(dataSource as never)).toThrow('pgDatabase(): pool is a DataSource of TypeORM;');
  expect(() => pgDatabase(new pg.Client() as never)).toThrow('pgDatabase(): pool is a client of pg;');
  expect(() => pgDatabase(undefined as never)).toThrow('pool is undefined; give a Pool of pg');
});
