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
  const read = withDefaults({ shards: { us, eu, asia: 'asia' }, shardOf });
  expect([...read.shards!]).toEqual([
    ['us', us],
    ['eu', eu],
    ['asia', 'asia'],
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
  [{ shards: { eu, us: eu } }, 'shards.eu and shards.us are the same database; give each shard its own'],
  [{ shards: { 'e u': eu } }, "shards has the name 'e u'; name shards by 1 to 63 letters"],
  [{ shards: { eu }, database: us }, 'shards and database are both set; set only one of them'],
  [{ shards: { eu }, dataSource: 'us' }, 'shards and dataSource are both set; set only one of them'],
  [{ shardOf: () => 'eu' }, 'shardOf is set without shards; set shards, or remove shardOf'],
  [{ shards: { eu }, shardOf: 'eu' }, "shardOf is 'eu'; give a function that returns the name of a shard"],
])('wrong shards are refused: %#', (options, problem) => {
  expect(problemOf(options)).toContain(problem);
  expect(problemOf(options)).not.toContain('secret');
});
