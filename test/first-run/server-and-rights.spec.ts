import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { Saga, SagaConfigurationError, Step } from '../../libs/saga/src/index.js';
import { migrate } from '../../libs/saga/src/store/postgres/migrate.js';
import { createSagaDataSource } from '../../libs/saga/src/store/postgres/saga-data-source.js';
import { startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order' })
class Order {
  @Step() act() {
    return 'done';
  }
}

/** Why an application does not start, in the words of the documentation. */
async function refusal(dataSource: object, migrates = true): Promise<string> {
  const error = await apps.start({ sagas: [Order], options: { migrate: migrates }, dataSource }).then(
    () => new Error('It started'),
    (thrown: Error) => thrown,
  );
  expect(error).toBeInstanceOf(SagaConfigurationError);
  const page = await readFile(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
  const message = error.message
    .replaceAll(/test_[0-9a-f]{16}|'postgres' at/g, (found) => (found.endsWith('at') ? `'shop' at` : 'shop'))
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:5432');
  expect(page).toContain(message);
  return message;
}

describe('a role', () => {
  const clerk = (): object => {
    const url = new URL(apps.url);
    [url.username, url.password] = ['shop_clerk', 'secret'];
    return { url: url.href };
  };

  beforeAll(async () => {
    await apps.sql(`CREATE ROLE shop_clerk LOGIN PASSWORD 'secret'`);
  });
  afterAll(async () => {
    await apps.sql('DROP OWNED BY shop_clerk');
    await apps.sql('DROP ROLE shop_clerk');
  });

  test('that may not create the schema is told which right it lacks, and of the other way', async () => {
    expect(await refusal(clerk())).toMatch(/may not create .* Grant CREATE on the database, or run/);
  });

  test('that may not make tables in a schema that is there is told which right it lacks', async () => {
    await apps.sql('CREATE SCHEMA saga');
    expect(await refusal(clerk())).toMatch(
      /permission denied for schema saga\. Grant CREATE on the schema, or run/,
    );
    await apps.sql('DROP SCHEMA saga');
  });

  test('that may not use some tables is told which, with the statements that allow it', async () => {
    const application = await new DataSource({ type: 'postgres', url: apps.url }).initialize();
    await migrate(await createSagaDataSource(application, 'saga'), 'saga');
    await application.destroy();
    await apps.sql('GRANT USAGE ON SCHEMA saga TO shop_clerk');
    await apps.sql('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA saga TO shop_clerk');
    await apps.sql('REVOKE UPDATE, DELETE ON saga.instance FROM shop_clerk');
    await apps.sql('REVOKE INSERT ON saga.step FROM shop_clerk');
    for (const migrates of [true, false]) {
      const message = await refusal(clerk(), migrates);
      expect(message).toContain('instance: UPDATE, DELETE; step: INSERT');
      for (const statement of message.match(/GRANT [^;]*/g)!) expect(statement).toMatch(/"shop_clerk"$/);
    }
    const message = await refusal(clerk());
    for (const statement of message.match(/GRANT [^;]*/g)!) await apps.sql(statement);
    const { sagas } = await apps.start({ sagas: [Order], dataSource: clerk() });
    expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');
  });
});

describe('a server', () => {
  test('that is too old is named with its version', async () => {
    const { query } = DataSource.prototype;
    // Only the version is made up: an older server cannot be had on each machine that runs these tests.
    DataSource.prototype.query = async function <T>(
      this: DataSource,
      ...args: Parameters<typeof query>
    ): Promise<T> {
      const rows = await query.apply(this, args);
      const old = { version: 130_016, release: '13.16' };
      return (args[0].includes('server_version_num') ? [{ ...(rows as object[])[0], ...old }] : rows) as T;
    };
    try {
      expect(await refusal({})).toMatch(/needs PostgreSQL 14 or later, .* is 13\.16/);
    } finally {
      DataSource.prototype.query = query;
    }
  });

  test('that is a standby is told from its primary', async () => {
    const server = await startEmbeddedPostgres();
    try {
      await server.halt('fast');
      await writeFile(join(server.dataDir, 'standby.signal'), '');
      // It is never ready in the sense that this waits for: ready to be written to.
      server.resume().catch(() => undefined);
      await until(() => answers(server.url));
      expect(await refusal({ url: server.url })).toMatch(/is a standby/);
    } finally {
      await server.stop();
    }
  });
});

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
