import pg from 'pg';
import { pgDatabase } from '../../databases/pg/index.js';
import { withDefaults } from '../saga.options.js';

const pool = () => new pg.Pool({ connectionString: 'postgres://app:secret@nowhere/shop' });
const eu = pgDatabase(pool());
const us = pgDatabase(pool());
/** Callers without a compiler. */
const problemOf = (options: object): string => {
  try {
    withDefaults(options);
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing';
};

test('shards are databases of layers, or names of DataSources, in the order of the options', () => {
  const shardOf = () => 'eu';
  const shards = {
    us,
    eu,
    asia: 'asia',
    mars: { database: eu, schema: 'saga_mars' },
    moon: { database: 'moon' },
  };
  const read = withDefaults({ shards, shardOf, schema: 'own' });
  expect([...read.shards!]).toEqual([
    ['us', { database: us, schema: 'own' }],
    ['eu', { database: eu, schema: 'own' }],
    ['asia', { database: 'asia', schema: 'own' }],
    ['mars', { database: eu, schema: 'saga_mars' }],
    ['moon', { database: 'moon', schema: 'own' }],
  ]);
  expect(read.shardOf).toBe(shardOf);
  expect(withDefaults({}).shards).toBeUndefined();
});

test.each([
  [{ shards: {} }, 'shards is {}; give an object such as'],
  [{ shards: [eu, us] }, 'give an object such as { eu: pgDatabase(pool)'],
  [
    { shards: { eu, us: pool() } },
    'shards.us is a Pool of pg. For pg, give forRoot({ database: pgDatabase(pool)',
  ],
  [{ shards: { eu, us: undefined } }, 'shards.us is undefined'],
  [{ shards: { eu, us: '' } }, "shards.us is ''; give the name of a DataSource"],
  [
    { shards: { eu, 'us-1': eu } },
    "shards.eu and shards.us-1 are the same database and schema ('saga'); give each shard a database or a schema of its own, such as us-1: { database, schema: 'saga_us_1' }",
  ],
  [
    { shards: { eu, us: { database: pgDatabase(eu.pool as object as pg.Pool) } } },
    'are the same database and schema',
  ],
  [{ shards: { eu: { database: 'a', schema: 'b' }, us: { database: 'a', schema: 'b' } } }, "schema ('b')"],
  [
    { shards: { eu: { schema: 'saga_eu' } } },
    'shards.eu is an object of the class Object. Give the database of an entry',
  ],
  [{ shards: { eu: { database: undefined } } }, 'shards.eu.database is undefined'],
  [{ shards: { eu: { database: pool() } } }, 'shards.eu.database is a Pool of pg'],
  [
    { shards: { eu: { database: eu, schema: 'Saga' } } },
    "shards.eu.schema is 'Saga'; give a lower-case name",
  ],
  [{ shards: { eu: { database: eu, schema: 'pg_eu' } } }, "shards.eu.schema 'pg_eu' is reserved"],
  [
    { shards: { eu: { database: eu, shema: 'a' } } },
    "unknown option 'shards.eu.shema'. Did you mean 'shards.eu.schema'?",
  ],
  [{ shards: { 'e u': eu } }, "shards has the name 'e u'; name shards by 1 to 63 letters"],
  [{ shards: { eu }, database: us }, 'shards and database are both set; set only one of them'],
  [{ shards: { eu }, dataSource: 'us' }, 'shards and dataSource are both set; set only one of them'],
  [{ shardOf: () => 'eu' }, 'shardOf is set without shards; set shards, or remove shardOf'],
  [{ shards: { eu }, shardOf: 'eu' }, "shardOf is 'eu'; give a function that returns the name of a shard"],
])('wrong shards are refused: %#', (options, problem) => {
  expect(problemOf(options)).toContain(problem);
  expect(problemOf(options)).not.toContain('secret');
});
