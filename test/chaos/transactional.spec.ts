import { randomUUID as uuid } from 'node:crypto';
import { type ChaosDatabases, createChaosDatabases, eventually } from './support/chaos-databases.js';
import { WorkerProcess } from './support/worker-process.js';

/** A lease (ms) that no machine is too slow to renew. */
const LONG = '600000';

describe('a process is killed between the business write and the commit', () => {
  let databases: ChaosDatabases;
  const workers: WorkerProcess[] = [];

  beforeEach(async () => {
    databases = await createChaosDatabases();
  });

  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.kill()));
    await databases.drop();
  });

  test('of a transactional step: its write is gone with it, and made once by the worker that takes over', async () => {
    const first = await startWorker({ HOLD: 'true', LEASE: LONG });
    const id = uuid();
    await databases.sagas.query(
      `INSERT INTO saga.instance (id, name, version, status, step, input, epoch, due_at, rank_at)
       VALUES ($1, 'ledger', 1, 'running', 'book', '{"hold":true}', 0, now(), now())`,
      [id],
    );
    await first.reported('written');
    await first.kill('SIGKILL');
    expect(await entries(id)).toBe(0);
    // As if the time of its lease had passed.
    await databases.sagas.query('UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1', [
      id,
    ]);

    await startWorker({ LEASE: LONG });
    await eventually(
      () => status(id),
      (s) => s === 'completed',
    );
    expect(await entries(id)).toBe(1);
    const { rows } = await databases.sagas.query(
      'SELECT attempts, "unknown" FROM saga.step WHERE saga_id = $1',
      [id],
    );
    expect(rows).toEqual([{ attempts: 2, unknown: false }]);
  });

  test('of a start in the caller’s transaction: neither the order nor the saga is there', async () => {
    const first = await startWorker({});
    first.send({ type: 'start-in-transaction', hold: true });
    const { id } = await first.reported('started');
    await first.kill('SIGKILL');
    await eventually(
      async () =>
        (await databases.sagas.query('SELECT FROM pg_locks WHERE relation = $1::regclass', ['ledger']))
          .rowCount,
      (locks) => locks === 0,
    );
    expect(await status(id as string)).toBeUndefined();
    expect((await databases.sagas.query('SELECT FROM ledger')).rowCount).toBe(0);
  });

  test('and not killed: order and saga are both there, and the saga runs', async () => {
    const worker = await startWorker({});
    worker.send({ type: 'start-in-transaction' });
    const { id } = await worker.reported('started');
    await eventually(
      () => status(id as string),
      (s) => s === 'completed',
    );
    expect((await databases.sagas.query('SELECT FROM ledger')).rowCount).toBe(2);
  });

  async function startWorker(environment: Record<string, string>): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start({ ...databases.environment, ...environment });
    workers.push(worker);
    return worker;
  }

  async function entries(id: string): Promise<number | null> {
    return (await databases.sagas.query('SELECT FROM ledger WHERE saga_id = $1', [id])).rowCount;
  }

  async function status(id: string): Promise<string | undefined> {
    const { rows } = await databases.sagas.query<{ status: string }>(
      'SELECT status FROM saga.instance WHERE id = $1',
      [id],
    );
    return rows[0]?.status;
  }
});
