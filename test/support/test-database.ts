import { randomBytes } from 'node:crypto';
import { execute } from './execute.mjs';

export interface TestDatabase {
  readonly url: string;
  /** Removes it, even with open connections. */
  drop(): Promise<void>;
}

/** A fresh, empty database on the test run's server, so that tests need not tidy up after one another. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('TEST_DATABASE_URL is not set; jest sets it by its globalSetup');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => void (await execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}
