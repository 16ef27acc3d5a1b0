import pg from 'pg';
import { databaseParts } from '../../support/database-parts.js';
import { Saga, SagaConfigurationError, type SagaModuleOptions, Step } from '../../../libs/saga/src/index.js';
import { finishedIndexSql } from '../../../libs/saga/src/store/postgres/schema/finished-index.sql.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order' })
class OrderSaga {
  @Step() reserve() {}
}

const start = (options: SagaModuleOptions = {}) => apps.start({ sagas: [OrderSaga], options });

/** Made by SQL, as if they had ended 40 days ago. */
const filled = (count: number) =>
  apps.sql(
    `INSERT INTO saga.instance (id, name, version, status, step, epoch, finished_at)
     SELECT gen_random_uuid(), 'order', 1, 'completed', '', 1, now() - interval '40 days'
     FROM generate_series(1, $1::int)`,
    [count],
  );

describe('the index that deletion reads', () => {
  beforeEach(() => apps.sql('DROP INDEX IF EXISTS saga.instance_finished').catch(() => undefined));
  const indexes = () =>
    apps.sql(
      `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('saga.instance_finished')`,
    );

  test('is there only where something was ever deleted', async () => {
    const app = await start();
    await (await app.sagas.start(OrderSaga, undefined)).outcome();
    expect(await indexes()).toEqual([]);
    await app.operations.cleanup({ olderThan: '30d' });
    expect(await indexes()).toEqual([{ valid: true }]);
  });

  test('is made once, by however many processes that need it at the same time', async () => {
    const started = await Promise.all([start(), start(), start()]);
    await filled(2_000);
    const results = await Promise.all(started.map((app) => app.operations.cleanup({ olderThan: '30d' })));
    expect(results.reduce((sum, { deleted }) => sum + deleted, 0)).toBe(2_000);
    expect(await indexes()).toEqual([{ valid: true }]);
  });

  test('is made anew where the making of it was cut off', async () => {
    const app = await start();
    await filled(10);
    const cutting = new pg.Client({ connectionString: apps.url });
    await cutting.connect();
    await cutting.query(finishedIndexSql('saga', ''));
    await cutting.query(
      `UPDATE pg_index SET indisvalid = false, indisready = false WHERE indexrelid = 'saga.instance_finished'::regclass`,
    );
    await cutting.end();
    expect(await app.operations.cleanup({ olderThan: '30d' })).toEqual({ deleted: 10, more: false });
    expect(await indexes()).toEqual([{ valid: true }]);
  });

  test('is asked of the owner, with the statement, where this role may not make it', async () => {
    await (await start()).close();
    await apps.sql(`DROP INDEX IF EXISTS saga.instance_finished`);
    await apps.sql(`CREATE ROLE poor LOGIN PASSWORD 'pw'`);
    const sequences = 'USAGE ON ALL SEQUENCES IN SCHEMA saga';
    for (const grant of ['USAGE ON SCHEMA saga', 'ALL ON ALL TABLES IN SCHEMA saga', sequences])
      await apps.sql(`GRANT ${grant} TO poor`);
    try {
      const url = apps.url.replace(/\/\/[^@]+@/, '//poor:pw@');
      const app = await apps.start({ sagas: [OrderSaga], dataSource: { url }, options: { migrate: false } });
      const cleanup = app.operations.cleanup({ olderThan: '30d' });
      await expect(cleanup).rejects.toThrow(SagaConfigurationError);
      await expect(cleanup).rejects.toThrow(
        `Run as the owner of schema 'saga': CREATE INDEX CONCURRENTLY IF NOT EXISTS instance_finished`,
      );
      await app.close();
    } finally {
      await apps.sql('DROP OWNED BY poor');
      await apps.sql('DROP ROLE poor');
    }
  });

  test('does not delay a shutdown while it waits for old transactions', async () => {
    const app = await start({ retention: '30d' });
    const old = new pg.Client({ connectionString: apps.url });
    await old.connect();
    await old.query('BEGIN');
    await old.query('LOCK TABLE saga.instance IN ROW EXCLUSIVE MODE');
    const ticking = (await databaseParts(app.nest)).cleanup.tick();
    await until(
      async () =>
        (await apps.sql('SELECT FROM pg_stat_progress_create_index WHERE datname = current_database()'))
          .length > 0,
    );
    await app.close();
    await ticking;
    await old.end();
  });

  test('nor when they stop before it has started', async () => {
    const old = new pg.Client({ connectionString: apps.url });
    await old.connect();
    await old.query('BEGIN');
    for (let n = 0; n < 10; n++) {
      const app = await start({ retention: '30d' });
      await old.query('LOCK TABLE saga.instance IN ROW EXCLUSIVE MODE');
      const ticking = (await databaseParts(app.nest)).cleanup.tick();
      for (let turn = 0; turn < n * 10; turn++) await new Promise(setImmediate);
      await app.close();
      await ticking;
    }
    await old.end();
  });
});
