import { setTimeout as sleep } from 'node:timers/promises';
import { Saga, Step, type StepContext, type TransactionalStepContext } from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';
import { until } from '../../support/gate.js';

const apps = TestApps.onOwnDatabase();

/** Transactions need a connection to end, and so does what they wait for. */
describe('transactional steps in a pool that has no connection left', () => {
  test('release a connection that they got too late, so that the lease can be renewed', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step({ transactional: true }) async book({ manager }: TransactionalStepContext) {
        await manager.query('SELECT 1');
      }
    }
    const { sagas, dataSource, stopPolling } = await apps.start({
      sagas: [Order],
      options: { worker: { lease: '2s' } },
      dataSource: { poolSize: 2 },
    });
    stopPolling();
    // The application is next in line when the start is stored, and takes all there is before the step can
    // begin.
    await apps.sql('BEGIN');
    await apps.sql('LOCK TABLE saga.instance');
    const starting = sagas.start(Order, {});
    await until(async () => (await waitingForLocks()) > 0);
    const [one, other] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    const taking = Promise.all([one.connect(), other.connect()]);
    await apps.sql('COMMIT');
    await taking;
    const { outcome } = await starting;
    // Meanwhile its lease grows too old to begin anything.
    await sleep(2_200);
    await one.release();
    try {
      const { status } = await outcome({ timeout: '8s' });
      expect(status).toBe('completed');
    } finally {
      await other.release();
    }
  });

  test.each([2, 3])(
    'do not wait for each other’s connections to have a checkpoint of their own saga stored, of %i',
    async (poolSize) => {
      const booking = new Set<string>();
      let open = 0;
      let mostOpen = 0;
      const noted = new Set<string>();
      @Saga({ name: 'order' })
      class Order {
        @Step({ after: [], transactional: true }) async book({ manager, sagaId }: TransactionalStepContext) {
          await manager.query('SELECT 1');
          booking.add(sagaId);
          open += 1;
          mostOpen = Math.max(mostOpen, open);
          await until(() => noted.has(sagaId));
          // By now the checkpoint that records the note is on its way.
          await sleep(50);
          open -= 1;
        }
        @Step({ after: [] }) async note({ sagaId }: StepContext) {
          // As many as can be are in their transactions.
          await until(() => booking.has(sagaId) && mostOpen >= poolSize - 1);
          await sleep(300);
          noted.add(sagaId);
        }
      }
      const { sagas } = await apps.start({ sagas: [Order], dataSource: { poolSize } });
      const handles = await Promise.all(Array.from({ length: poolSize }, () => sagas.start(Order, {})));
      const outcomes = await Promise.all(handles.map(({ outcome }) => outcome({ timeout: '8s' })));
      expect(outcomes.map(({ status }) => status)).toEqual(handles.map(() => 'completed'));
      // One is left for the checkpoint, so that no transaction has to give its own up.
      expect(mostOpen).toBe(poolSize - 1);
    },
  );
});

async function waitingForLocks(): Promise<number> {
  const [row] = await apps.sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return row!.n;
}
