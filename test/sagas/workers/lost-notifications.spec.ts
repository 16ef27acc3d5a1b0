import { Saga, type SagaModuleOptions, Step } from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const worker = (options: Exclude<SagaModuleOptions['worker'], false>): SagaModuleOptions => ({
  worker: { pollInterval: '20ms', ...options },
});

describe('a lost NOTIFY', () => {
  const listeners = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`;

  test('costs a poll, and nothing else', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() reserve() {
        return 1;
      }
    }
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    await apps.start({ sagas: [Order], options: worker({}) });
    expect(await apps.sql(listeners)).toHaveLength(2);
    const order = await web.sagas.start(Order, {});
    expect(await order.outcome()).toMatchObject({ status: 'completed' });
  });

  test('costs a poll when it was the announcement of an outcome', async () => {
    const [started, finish] = [new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve() {
        started.open();
        await finish.opened;
      }
    }
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    await apps.start({ sagas: [Order], options: worker({}) });
    const order = await web.sagas.start(Order, {});
    await started.opened;
    const outcome = order.outcome();
    await until(async () => (await apps.sql('SELECT FROM saga.instance WHERE watched')).length);
    await apps.sql(listeners);
    finish.open();
    expect(await outcome).toMatchObject({ status: 'completed' });
  });

  test('is received again once the connection is back', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() reserve() {}
    }
    const slow: SagaModuleOptions = { worker: { pollInterval: '1h' } };
    await apps.start({ sagas: [Order], options: slow });
    await apps.sql(listeners);
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    await until(
      async () =>
        (
          await apps.sql(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
          )
        ).length === 2,
    );
    const { id } = await web.sagas.start(Order, {});
    await until(async () => (await web.sagas.get(id)).status === 'completed');
  });
});
