import { SchedulerRegistry } from '@nestjs/schedule';
import pg from 'pg';
import { DataSource } from 'typeorm';
import {
  Saga,
  SagaConfigurationError,
  type SagaModuleOptions,
  Step,
  type StepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { sagaMigrations } from '../../../libs/saga/src/database.js';
import { idOf, PartitionedTables } from '../../support/partitioned-tables.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const tables = new PartitionedTables(apps);

@Saga({ name: 'order' })
class OrderSaga {
  @Step() reserve() {
    return 'reserved';
  }
}
@Saga({ name: 'question' })
class QuestionSaga {
  @WaitFor({ signal: 'answer' }) ask(_ctx: StepContext, answer: string) {
    return answer;
  }
}

const sagas = [OrderSaga, QuestionSaga];
const start = (options: SagaModuleOptions = {}) =>
  apps.start({ sagas, options: { partitions: 'daily', retention: '30d', ...options } });

afterEach(() => apps.sql('DROP SCHEMA IF EXISTS saga CASCADE'));

describe('an application that had none before', () => {
  test('goes on with what it has, which becomes a partition of its own', async () => {
    const before = await apps.start({ sagas });
    const [waiting, untimed] = [
      await before.sagas.start(QuestionSaga, undefined, { correlationId: 'q-1' }),
      await before.sagas.start(QuestionSaga, undefined, { id: 'f0000000-0000-4000-8000-000000000000' }),
    ];
    const done = await before.sagas.start(OrderSaga, {}, { correlationId: 'o-1' });
    await done.outcome();
    await before.close();
    const app = await start();
    expect(await tables.placeOf(waiting.id)).toBe('saga.instance_before');
    expect(await tables.placeOf(untimed.id)).toBe('saga.instance_rest');
    for (const { id } of [waiting, untimed]) {
      await app.sagas.signal(id, 'answer', 'yes');
      expect(await app.sagas.wait(id)).toMatchObject({ status: 'completed' });
    }
    expect(await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' })).toMatchObject({
      id: done.id,
      created: false,
    });
    // Who does not ask for partitions runs on those that are there, and sees to them as well.
    const other = await apps.start({ sagas, options: { retention: '30d' } });
    expect((await (await other.sagas.start(OrderSaga, {})).outcome()).status).toBe('completed');
    // One day all of it is over.
    expect(
      await apps.sql(
        `SELECT saga.partition_drop('before', saga.partition_bound(0), saga.partition_bound(since), '{order}', '{0}', 10) AS moved
         FROM saga.partitioning`,
      ),
    ).toEqual([{ moved: 1 }]);
    await tables.drop(other, 'before');
    expect(await tables.placeOf(waiting.id)).toBe('saga.instance_rest');
    await expect(app.sagas.get(done.id)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
    expect(await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' })).toMatchObject({ created: true });
  });

  test('has them seen to on a schedule that can be seen', async () => {
    const registry = { provide: SchedulerRegistry, useClass: SchedulerRegistry };
    const app = await apps.start({ sagas, providers: [registry], options: { partitions: 'daily' } });
    expect(app.nest.get(SchedulerRegistry, { strict: false }).getIntervals()).toContain('saga:partitions');
  });

  test('may let its own migrations make them, for a role that owns nothing', async () => {
    const owner = await new DataSource({ type: 'postgres', url: apps.url }).initialize();
    const runner = owner.createQueryRunner();
    await apps.sql(`CREATE ROLE seller LOGIN PASSWORD 'pw'`);
    try {
      const [first, messages, parts] = sagaMigrations('saga', { partitions: 'daily' }).map(
        (type) => new type(),
      );
      await apps.sql('CREATE SCHEMA IF NOT EXISTS saga');
      await first!.up(runner);
      await messages!.up(runner);
      for (const grant of [
        'USAGE ON SCHEMA saga',
        'SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA saga',
      ])
        await apps.sql(`GRANT ${grant} TO seller`);
      await apps.sql('GRANT USAGE ON ALL SEQUENCES IN SCHEMA saga TO seller');
      await parts!.up(runner);
      const url = apps.url.replace(/\/\/[^@]+@/, '//seller:pw@');
      const app = await apps.start({
        sagas,
        dataSource: { url },
        options: { migrate: false, partitions: 'daily', retention: '30d' },
      });
      const old = await tables.make(40);
      const saga = await app.sagas.start(OrderSaga, {}, { id: idOf(40), correlationId: 'o-1' });
      await saga.outcome();
      await tables.endedThen([saga.id]);
      await tables.drop(app, old);
      expect(await tables.of()).toHaveLength(9);
      expect(await app.sagas.start(OrderSaga, {}, { correlationId: 'o-1' })).toMatchObject({ created: true });
      await app.close();
      await apps.sql('REVOKE DELETE ON saga.instance FROM seller');
      const poor = new pg.Client({ connectionString: url });
      await poor.connect();
      const drop = `SELECT saga.partition_drop('20200101', saga.partition_bound(0), saga.partition_bound(1), '{}', '{}', 1)`;
      await expect(poor.query(drop)).rejects.toThrow('role seller may not delete');
      await expect(
        poor.query(`SELECT saga.partition_forget('20200101', gen_random_uuid(), 1)`),
      ).rejects.toThrow('role seller may not delete');
      await apps.sql('CREATE TABLE saga.secret (id uuid, parent_id uuid)');
      await expect(
        poor.query(
          `SELECT saga.partition_keepers('saga.secret', gen_random_uuid(), gen_random_uuid(), '{}', '{}', 1, NULL)`,
        ),
      ).rejects.toThrow('permission denied for table secret');
      await apps.sql('DROP TABLE saga.secret');
      await poor.end();
      await apps.sql('GRANT DELETE ON saga.instance TO seller');
      await parts!.down(runner);
      const [{ kind } = { kind: '' }] = await apps.sql<{ kind: string }>(
        `SELECT relkind AS kind FROM pg_class WHERE oid = 'saga.instance'::regclass`,
      );
      expect(kind).toBe('r');
      const plain = await apps.start({ sagas, dataSource: { url }, options: { migrate: false } });
      expect(await plain.sagas.start(OrderSaga, {}, { correlationId: 'o-1' })).toMatchObject({
        created: false,
      });
      await plain.close();
      await messages!.down(runner);
      await first!.down(runner);
    } finally {
      await owner.destroy();
      await apps.sql('DROP OWNED BY seller');
      await apps.sql('DROP ROLE seller');
    }
  });

  test('receives an error if they cannot be changed, are missing, or do not exist', async () => {
    await expect(start({ partitions: 'hourly' as 'daily' })).rejects.toThrow(
      "partitions is 'hourly'; give 'daily' or 'weekly'",
    );
    await (await apps.start({ sagas })).close();
    const missing = start({ migrate: false });
    await expect(missing).rejects.toThrow(SagaConfigurationError);
    await expect(missing).rejects.toThrow("sagaMigrations('saga', { partitions: 'daily' })");
    await (await start()).close();
    await expect(start({ partitions: 'weekly' })).rejects.toThrow(
      "partitions is 'weekly', but the tables already have daily partitions",
    );
  });
});
