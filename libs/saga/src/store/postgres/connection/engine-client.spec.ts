import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import type { EngineClient } from './engine-client.js';
import { createSagaDataSource } from './saga-data-source.js';

let database: TestDatabase;
let application: DataSource;
let sagas: DataSource;

beforeAll(async () => {
  database = await createTestDatabase();
  application = await new DataSource({ type: 'postgres', url: database.url, poolSize: 1 }).initialize();
  sagas = await createSagaDataSource(application, 'saga');
});
afterAll(async () => {
  await sagas.destroy();
  await application.destroy();
  await database.drop();
});

/** As TypeORM 0.3.20 asks for the version of the server. */
async function askedWithCallback(text: string): Promise<unknown> {
  const runner = sagas.createQueryRunner();
  const client = (await runner.connect()) as EngineClient;
  try {
    return await new Promise((resolve, reject) => {
      void client.query(text, (error, result) => (error ? reject(error) : resolve(result)));
    });
  } finally {
    await runner.release();
  }
}

test('a callback is told the result, as by a client of pg', async () => {
  expect(await askedWithCallback('SELECT 1 AS one')).toMatchObject({ rows: [{ one: 1 }] });
});

test('a callback is told the failure, as by a client of pg', async () => {
  await expect(askedWithCallback('SELECT 1 / 0')).rejects.toThrow('division by zero');
});
