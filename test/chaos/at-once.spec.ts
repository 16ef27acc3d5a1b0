import { MIGRATION_LOCK } from '../../libs/saga/src/store/postgres/setup/migrate.js';
import { checkOrders } from './support/check-orders.js';
import { type ChaosDatabases, createChaosDatabases, eventually } from './support/chaos-databases.js';
import { WorkerProcess } from './support/worker-process.js';

const PROCESSES = 10;
const ORDERS = 300;

describe('several processes do the same at the same moment', () => {
  let databases: ChaosDatabases;
  let workers: WorkerProcess[] = [];

  beforeAll(async () => {
    databases = await createChaosDatabases();
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await databases.drop();
  });

  test(`${PROCESSES} that start: the migrations are applied once, and all of them come up`, async () => {
    const gate = await databases.sagas.connect();
    await gate.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const starting = Array.from({ length: PROCESSES }, () => WorkerProcess.start(databases.environment));
    await eventually(waitingForMigration, (n) => n === PROCESSES);
    await gate.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    gate.release();
    workers = await Promise.all(starting);
    const { rows } = await databases.sagas.query<{ name: string }>(
      'SELECT name FROM saga.migration ORDER BY id',
    );
    expect(rows.map(({ name }) => name.replace(/\d+$/, ''))).toEqual([
      'CreateSagaTables',
      'CreateMessagingTables',
    ]);
  }, 240_000);

  test(`that start the same ${ORDERS} sagas: each is started once, and all are given the same ids`, async () => {
    for (const worker of workers) worker.send({ type: 'start-orders', count: ORDERS });
    const reports = await Promise.all(workers.map((worker) => worker.reported('orders-started')));
    const started = reports.map(({ handles }) => handles as { id: string; created: boolean }[]);
    for (const handles of started) {
      expect(handles.map(({ id }) => id)).toEqual(started[0]!.map(({ id }) => id));
    }
    expect(started.flat().filter(({ created }) => created)).toHaveLength(ORDERS);
    await eventually(open, (sagas) => sagas.length === 0);
    const { wrong } = await checkOrders(databases.sagas, databases.participants);
    expect(wrong).toEqual([]);
  }, 240_000);

  const count = async (sql: string, values: unknown[] = []): Promise<number> =>
    (await databases.sagas.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${sql}`, values)).rows[0]!.n;
  const waitingForMigration = () =>
    count(`pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted`, [MIGRATION_LOCK]);
  /** The sagas that have not completed, each with all that its row says. */
  const open = async () =>
    (await databases.sagas.query<object>(`SELECT * FROM saga.instance WHERE status <> 'completed' LIMIT 5`))
      .rows;
});
