import { EventEmitter } from 'node:events';
import { DataSource, type QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import { TypeOrmDatabase } from '../typeorm/typeorm-database.js';
import { TransactionWatch } from './transaction-watch.js';

let database: TestDatabase;
let dataSource: DataSource;
let runner: QueryRunner;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = await new DataSource({ type: 'postgres', url: database.url, poolSize: 1 }).initialize();
});
beforeEach(async () => {
  runner = dataSource.createQueryRunner();
  await runner.connect();
});
afterEach(async () => {
  await runner.query('ROLLBACK');
  await runner.release();
});
afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

const fail = () => runner.query('SELECT 1 / 0').catch(() => undefined);

/** The watch of a driver that does not pass on messages of the server, such as pg-native. */
const withoutMessages = () => TransactionWatch.on({});
const ofThisDriver = async () =>
  (await TransactionWatch.of(new TypeOrmDatabase(dataSource).join(runner.manager)))!;

test('a transaction that was idle for too long is not taken for one whose error was caught', async () => {
  const own = await new DataSource({ type: 'postgres', url: database.url, poolSize: 1 }).initialize();
  const idle = own.createQueryRunner();
  const client = (await idle.connect()) as { once(event: 'end' | 'error', end: () => void): void };
  const watch = (await TransactionWatch.of(new TypeOrmDatabase(own).join(idle.manager)))!;
  client.once('error', () => undefined);
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  await idle.query('BEGIN');
  await idle.query('SET LOCAL idle_in_transaction_session_timeout = 20');
  await ended;
  await expect(watch.requireOpen('It', idle.manager)).rejects.toMatchObject({
    code: 'SAGA_TRANSACTION',
    message: expect.stringMatching(
      /^It is not stored: the server closed the connection of its transaction: terminating connection due to idle-in-transaction timeout\. Between two statements/,
    ),
  });
  await idle.release();
  await own.destroy();
});

describe.each([
  ['with the messages of the server', ofThisDriver],
  ['without them', async () => withoutMessages()],
])('a transaction that is followed %s', (_, watchOf) => {
  test('is known to be open, and to be aborted by a statement whose error was caught', async () => {
    const watch = await watchOf();
    await runner.query('BEGIN');
    await watch.requireOpen('It', runner.manager);
    await fail();
    await expect(watch.requireOpen('It', runner.manager)).rejects.toMatchObject({ code: 'SAGA_TRANSACTION' });
  });

  test('is open again behind a savepoint', async () => {
    const watch = await watchOf();
    await runner.query('BEGIN');
    await runner.query('SAVEPOINT a');
    await fail();
    await runner.query('ROLLBACK TO SAVEPOINT a');
    await watch.requireOpen('It', runner.manager);
  });
});

test('what is known of one transaction is not taken for the next one of the same connection', async () => {
  const watch = await ofThisDriver();
  await runner.query('BEGIN');
  await fail();
  await runner.query('COMMIT');
  expect(() => watch.requireCommitted('It')).toThrow('division by zero');
  await runner.query('BEGIN');
  await watch.requireOpen('It', runner.manager);
  await runner.query('COMMIT');
  watch.requireCommitted('It');
});

test('a connection is followed once, however often it is asked about', async () => {
  const watches = await Promise.all(Array.from({ length: 20 }, ofThisDriver));
  expect(new Set(watches).size).toBe(1);
});

test('an error is known before the message that ends its statement, if a connection is followed from within a transaction', () => {
  const connection = new EventEmitter();
  const watch = TransactionWatch.on({ connection });
  const failure = Object.assign(new Error('could not serialize'), { code: '40001' });
  connection.emit('errorMessage', failure);
  expect(watch.errorBehind(new Error('of the layer', { cause: failure }))).toBe(failure);
});
