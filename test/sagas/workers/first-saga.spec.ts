import { DataSource } from 'typeorm';
import { Saga, Step } from '../../../libs/saga/src/index.js';
import { StatementLog } from '../../support/statement-log.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order' })
class Order {
  @Step() charge() {}
  @Step() ship() {}
}

const connectionsOf = ({ driver }: DataSource) =>
  (driver as unknown as { master: { totalCount: number } }).master.totalCount;

describe('an application that has just started', () => {
  // Makes the tables.
  beforeAll(async () => (await apps.start({ sagas: [Order] })).close());

  test('runs its first saga on the one connection of the pool that start-up has opened', async () => {
    const { sagas, dataSource } = await apps.start({ sagas: [Order] });
    expect(connectionsOf(dataSource)).toBe(1);
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('completed');
    expect(connectionsOf(dataSource)).toBe(1);
  });

  test('has had PostgreSQL parse and plan what its first saga sends, and has stored nothing by that', async () => {
    const { dataSource } = await apps.start({ sagas: [Order] });
    const [prepared, stored] = await Promise.all([
      dataSource.query<{ name: string }[]>('SELECT name FROM pg_prepared_statements ORDER BY name'),
      apps.sql('SELECT FROM saga.instance UNION ALL SELECT FROM saga.step'),
    ]);
    expect(prepared).toEqual([{ name: 'saga.checkpointOne' }, { name: 'saga.startOne' }]);
    expect(stored).toEqual([]);
  });

  test('has read the paused steps, and leases its first saga with the start, so that no claim is needed', async () => {
    const log = new StatementLog();
    const { sagas, stopPolling } = await apps.start({
      sagas: [Order],
      dataSource: { logging: ['query'], logger: log },
    });
    stopPolling();
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('completed');
    const sent = (part: string) => log.statements.filter(({ text }) => text.includes(part));
    expect(sent('step_pause')).toHaveLength(1);
    // That of start-up.
    expect(sent('claim')).toHaveLength(1);
  });
});
