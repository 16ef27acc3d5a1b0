import { Saga, Step, type TransactionalStepContext } from '../../../libs/saga/src/index.js';
import { AnsweringProxy } from '../../support/answering-proxy.js';
import { until } from '../../support/gate.js';
import type { LayerApps } from './layer-apps.js';

@Saga({ name: 'order' })
class Order {
  @Step() reserve() {}
}

const LISTENING = `FROM pg_stat_activity
  WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`;

/** What happens to connections. */
export function describeConnections(apps: LayerApps): void {
  test('LISTEN works again after its connection was lost', async () => {
    const worker = { pollInterval: '1h' } as const;
    await apps.start({ sagas: [Order], options: { worker } });
    expect(await apps.sql(`SELECT pg_terminate_backend(pid) ${LISTENING}`)).toHaveLength(1);
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    await until(async () => (await apps.sql(`SELECT ${LISTENING}`)).length === 2);
    const order = await web.sagas.start(Order, {});
    expect((await order.outcome()).status).toBe('completed');
  });

  test('transactions are joined and opened behind a pooler that invents process ids', async () => {
    const pooler = await AnsweringProxy.before(apps.url);
    pooler.inventsIds = true;
    const write: { with?: (transaction: object) => Promise<unknown> } = {};
    @Saga({ name: 'booking' })
    class Booking {
      @Step({ transactional: true }) async book({ transaction }: TransactionalStepContext) {
        await write.with!(transaction);
      }
    }
    try {
      const app = await apps.start({ sagas: [Booking], url: pooler.url });
      const { layer, sagas } = app;
      write.with = (transaction) => layer.write(transaction, 'in a step');
      const booking = await layer.transaction(async (transaction) => {
        await layer.write(transaction, 'beside a start');
        return sagas.start(Booking, {}, { transaction });
      });
      expect((await booking.outcome()).status).toBe('completed');
      expect(await apps.effects()).toEqual(['beside a start', 'in a step']);
      await app.close();
    } finally {
      await pooler.close();
    }
  });

  test('sagas go on after all connections were lost', async () => {
    const { sagas } = await apps.start({ sagas: [Order] });
    expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');
    await apps.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');
  });

  test('an application that is closed leaves none behind, and none in a transaction', async () => {
    const app = await apps.start({ sagas: [Order] });
    await (await app.sagas.start(Order, {})).outcome();
    const others = `SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    const states = (await apps.sql<{ state: string }>(others)).map(({ state }) => state);
    expect(states).not.toContain('idle in transaction');
    await app.close();
    await until(async () => (await apps.sql(others)).length === 0);
  });
}
