import { Saga, Step, type StepContext, type TransactionalStepContext } from '../../../libs/saga/src/index.js';
import { pause, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('connections that are cut during load', () => {
  test('cost time, and nothing else: no attempt counts, no saga is lost, none runs twice', async () => {
    await apps.sql('CREATE TABLE booking (saga uuid)');
    const ran = new Map<string, number>();
    const did = (key: string) => ran.set(key, (ran.get(key) ?? 0) + 1);
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step() async reserve({ idempotencyKey }: StepContext) {
        await pause(5);
        did(idempotencyKey);
      }
      @Step({ transactional: true }) async book({ manager, sagaId }: TransactionalStepContext) {
        await manager.query('INSERT INTO booking VALUES ($1)', [sagaId]);
      }
      @Step() async ship({ idempotencyKey }: StepContext) {
        await pause(5);
        did(idempotencyKey);
      }
    }
    const app = await apps.start({ sagas: [Order], dataSource: { poolSize: 10 } });
    const handles = [];
    const cut = () =>
      apps.sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
      );
    // Ten times, while thirty sagas start each time and the earlier ones are running.
    for (let n = 0; n < 300; n += 30) {
      handles.push(
        ...Array.from({ length: 30 }, (_, k) => app.sagas.start(Order, {}, { correlationId: `${n + k}` })),
      );
      const before = ran.size;
      await until(() => ran.size > before);
      // Some of those before may still be about to be made again.
      await until(async () => (await cut()).length);
    }
    const started = await Promise.all(handles);
    const outcomes = await Promise.all(started.map(({ outcome }) => outcome()));
    expect(outcomes.filter(({ status }) => status !== 'completed')).toEqual([]);
    expect(new Set(started.map(({ id }) => id)).size).toBe(300);
    expect(
      await apps.sql('SELECT name, attempts, errors FROM saga.step WHERE attempts > 1 OR errors IS NOT NULL'),
    ).toEqual([]);
    expect([...ran.values()].filter((times) => times !== 1)).toEqual([]);
    expect(ran.size).toBe(600);
    const [booked] = await apps.sql(
      'SELECT count(*)::int AS n, count(DISTINCT saga)::int AS sagas FROM booking',
    );
    expect(booked).toEqual({ n: 300, sagas: 300 });
  });

  test('are made again by calls of an idle application', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() act() {}
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    await outcome();
    const cut = () =>
      apps.sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
    const calls = [
      () => sagas.get(id),
      () => sagas.find({}),
      () => sagas.wait(id),
      () => sagas.start(Order, {}),
      () => sagas.cancel(id).catch((error: { code: string }) => expect(error.code).toBe('SAGA_STATE')),
    ];
    for (const call of calls) {
      await cut();
      await call();
    }
    await until(async () => (await sagas.find({ status: 'completed' })).items.length === 2);
  });
});
