import { readFile } from 'node:fs/promises';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Saga, SagaConfigurationError, Step } from '../../libs/saga/src/index.js';
import { Inbox, Outbox, SagaMessagingModule } from '../../libs/messaging/src/index.js';
import { finishedIndexSql } from '../../libs/saga/src/store/postgres/schema/finished-index.sql.js';
import { MESSAGING_NEEDS, type Needs, SAGA_NEEDS } from '../../libs/saga/src/store/postgres/setup/needs.js';
import { checkMigrated, migrate } from '../../libs/saga/src/store/postgres/setup/migrate.js';
import { EngineSql } from '../../libs/saga/src/store/postgres/connection/engine-sql.js';
import { sqlOf } from '../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { MemoryBroker } from '../messaging/support/memory-broker.js';
import { startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { playProgram } from '../world/program.js';
import { SAGAS } from '../world/sagas.js';

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
  return expectDocumented(error);
}

/** Expects a refusal that docs/troubleshooting.md shows. */
async function expectDocumented(error: Error, message = /./): Promise<string> {
  expect(error).toMatchObject({
    name: 'SagaConfigurationError',
    message: expect.stringMatching(message) as string,
  });
  expect(error).toBeInstanceOf(SagaConfigurationError);
  const page = await readFile(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
  const shown = error.message
    .replaceAll(/test_[0-9a-f]{16}|'postgres' at/g, (found) => (found.endsWith('at') ? `'shop' at` : 'shop'))
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:5432');
  expect(page).toContain(shown);
  return shown;
}

async function migrated(): Promise<void> {
  const application = await new DataSource({ type: 'postgres', url: apps.url }).initialize();
  await migrate(sqlOf(application), 'saga');
  await application.destroy();
}

test('a schema that another build made is refused, with what to do', async () => {
  await migrated();
  await apps.sql(
    `COMMENT ON TABLE saga.graph IS 'nestjs-durable-saga CreateSagaTables1763700000000 of another'`,
  );
  for (const migrates of [true, false]) await refusal({}, migrates);
  await apps.sql('DROP SCHEMA saga CASCADE');
});

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

  test('that may not create the schema receives the missing right and the alternative', async () => {
    expect(await refusal(clerk())).toMatch(/may not create .* Grant CREATE on the database, or run/);
  });

  test('that may not create tables in an existing schema receives the missing right', async () => {
    await apps.sql('CREATE SCHEMA saga');
    expect(await refusal(clerk())).toMatch(
      /permission denied for schema saga\. Grant CREATE on the schema, or run/,
    );
    await apps.sql('DROP SCHEMA saga');
  });

  test('that may not use parts of the schema receives a list of them, with the GRANT statements', async () => {
    await migrated();
    await apps.sql('GRANT USAGE ON SCHEMA saga TO shop_clerk');
    await apps.sql('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA saga TO shop_clerk');
    await apps.sql('REVOKE UPDATE, DELETE ON saga.instance FROM shop_clerk');
    await apps.sql('REVOKE INSERT ON saga.step FROM shop_clerk');
    await apps.sql('REVOKE EXECUTE ON FUNCTION saga.wake FROM PUBLIC');
    for (const migrates of [true, false]) {
      const message = await refusal(clerk(), migrates);
      expect(message).toContain(
        'table instance: UPDATE, DELETE; table step: INSERT; sequence lock_position: USAGE',
      );
      expect(message).toContain('function wake: EXECUTE');
      for (const statement of message.match(/GRANT [^;]*/g)!) expect(statement).toMatch(/"shop_clerk"$/);
    }
  });

  test('that has what these statements allow, and owns nothing, can run everything', async () => {
    await migrated();
    await apps.sql('GRANT USAGE, CREATE ON SCHEMA public TO shop_clerk');
    await apps.sql('REVOKE ALL ON SCHEMA saga FROM shop_clerk');
    await apps.sql('REVOKE ALL ON ALL TABLES IN SCHEMA saga FROM shop_clerk');
    await apps.sql('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA saga FROM PUBLIC');
    const { message } = await check(SAGA_NEEDS).then(expectNone, (thrown: Error) => thrown);
    const grants = message.match(/GRANT [^;]*/g)!;
    expect(grants).toHaveLength(4);
    for (const left of grants) {
      for (const grant of grants) if (grant !== left) await apps.sql(grant);
      await expect(check(SAGA_NEEDS)).rejects.toThrow(SagaConfigurationError);
      await apps.sql(left);
      await check(SAGA_NEEDS);
      await check(MESSAGING_NEEDS);
      for (const grant of grants) await apps.sql(revoked(grant));
    }
    for (const grant of grants) await apps.sql(grant);
    // The owner's alone: see "Deleting sagas needs an index" below.
    await apps.sql(finishedIndexSql('saga', ''));

    const broker = new MemoryBroker();
    const app = await apps.start({
      sagas: SAGAS,
      options: { worker: { lease: '6s', pollInterval: '200ms' } },
      imports: [SagaMessagingModule.forRoot({ transport: broker, relay: { pollInterval: '200ms' } })],
      dataSource: clerk(),
    });
    const process = {
      ...app,
      ...{ outbox: app.nest.get(Outbox), inbox: app.nest.get(Inbox) },
    };
    await playProgram({ processes: [process], sent: broker.taken });
    await app.operations.cleanup({ olderThan: '1d' });
  });

  test('that lacks one right receives it, for each table, sequence and function', async () => {
    await migrated();
    const owned = await apps.sql<{ what: string; name: string }>(
      `SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS what, relname AS name FROM pg_class
         WHERE relnamespace = 'saga'::regnamespace AND relkind IN ('r', 'S') AND relname !~ '^migration'
           AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'i') /* needs no right */
       UNION ALL SELECT 'FUNCTION', proname FROM pg_proc
         WHERE pronamespace = 'saga'::regnamespace AND proname <> 'steps_of' /* is for people */`,
    );
    expect(owned.length).toBeGreaterThan(40);
    for (const { what, name } of owned) {
      const right = { SEQUENCE: 'USAGE', TABLE: 'DELETE', FUNCTION: 'EXECUTE' }[what]!;
      await apps.sql(`REVOKE ${right} ON ${what} saga.${name} FROM shop_clerk`);
      const expected = `lacks ${what.toLowerCase()} ${name}: ${right}. Run as`;
      expect((await check(SAGA_NEEDS).then(expectNone, (thrown: Error) => thrown)).message).toContain(
        expected,
      );
      await apps.sql(`GRANT ${right} ON ${what} saga.${name} TO shop_clerk`);
    }
    await check(SAGA_NEEDS);
  });

  /** What the start of the clerk's application looks at. */
  async function check(needs: Needs): Promise<void> {
    const application = await new DataSource({
      type: 'postgres',
      ...clerk(),
    }).initialize();
    try {
      await checkMigrated(sqlOf(application), 'saga', needs);
    } finally {
      await application.destroy();
    }
  }

  const revoked = (grant: string) => grant.replace('GRANT', 'REVOKE').replace(' TO ', ' FROM ');
  const expectNone = (): Error => new Error('It may use everything');
});

describe('a server', () => {
  test('that is too old is named with its version', async () => {
    const { query } = EngineSql.prototype;
    // Only the version is made up: an older server cannot be had on each machine that runs these tests.
    EngineSql.prototype.query = async function <T>(
      this: EngineSql,
      ...args: Parameters<typeof query>
    ): Promise<T> {
      const rows = await query.apply(this, args);
      const old = { version: 130_016, release: '13.16' };
      return (args[0].includes('server_version_num') ? [{ ...(rows as object[])[0], ...old }] : rows) as T;
    };
    try {
      expect(await refusal({})).toMatch(/needs PostgreSQL 15 or later, .* is 13\.16/);
    } finally {
      EngineSql.prototype.query = query;
    }
  });

  test('that is a standby is distinguished from its primary, and a start-up waits for its promotion', async () => {
    const primary = await startEmbeddedPostgres();
    const standby = await primary.startStandby().catch(async (error: unknown) => {
      await primary.stop();
      throw error;
    });
    const { warn } = Logger.prototype;
    const warnings: string[] = [];
    Logger.prototype.warn = (line: unknown) => void warnings.push(String(line));
    try {
      const dataSource = await new DataSource({ type: 'postgres', url: standby.url }).initialize();
      const refused = await checkMigrated(sqlOf(dataSource), 'saga').catch((error: Error) => error);
      await dataSource.destroy();
      await expectDocumented(refused as Error, /is a standby/);

      const starting = apps.start({ sagas: [Order], dataSource: { url: standby.url } });
      await until(() => warnings.some((line) => /is a standby.*Waiting for a promotion/.test(line)));
      await primary.halt('immediate');
      await standby.promote();
      const { sagas, close } = await starting;
      await expect((await sagas.start(Order, {})).outcome()).resolves.toMatchObject({ status: 'completed' });
      await close();
    } finally {
      Logger.prototype.warn = warn;
      await Promise.all([primary.stop(), standby.stop()]);
    }
  });
});
