import { randomUUID as uuid } from 'node:crypto';
import { type ChaosDatabases, createChaosDatabases, eventually } from './support/chaos-databases.js';
import { WorkerProcess } from './support/worker-process.js';

/** Long enough for a slow machine to renew it in time; it runs out when the test says so. */
const LEASE = 6_000;

describe('a worker is stopped with SIGSTOP for longer than its lease, then goes on', () => {
  let databases: ChaosDatabases;
  const workers: WorkerProcess[] = [];

  beforeAll(async () => {
    databases = await createChaosDatabases();
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await databases.drop();
  });

  test('another finishes the saga, and what the first one brings late changes nothing', async () => {
    const environment = { ...databases.environment, LEASE: String(LEASE) };
    const first = await startWorker(environment);
    const id = uuid();
    // As start() would have stored it: due immediately, for the first worker that claims it.
    await databases.sagas.query(
      `INSERT INTO saga.instance (id, name, version, status, step, input, epoch, due_at, rank_at)
       VALUES ($1, 'held', 1, 'running', 'first', '{"hold":true}', 0, now(), now())`,
      [id],
    );
    await first.reported('in-step');
    first.signal('SIGSTOP');
    await databases.sagas.query('UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1', [
      id,
    ]);

    const second = await startWorker(environment);
    const completed = await eventually(
      () => instance(id),
      (row) => row.status === 'completed',
    );
    expect(completed.by).toBe(second.pid);

    first.signal('SIGCONT');
    // It learns that the lease is another's, and its step's signal aborts.
    expect((await first.reported('aborted')).reason).toContain('lease');
    await first.reported('step-returned');
    const { rows: effects } = await databases.participants.query<{ step: string; calls: number }>(
      'SELECT step, calls FROM effect WHERE saga_id = $1 ORDER BY seq',
      [id],
    );
    expect(effects).toEqual([
      { step: 'first', calls: 1 },
      { step: 'second', calls: 2 },
      { step: 'third', calls: 1 },
    ]);
    expect(await instance(id)).toEqual(completed);

    // The stopped worker is none the worse for it.
    await second.kill();
    const next = uuid();
    await databases.sagas.query(
      `INSERT INTO saga.instance (id, name, version, status, step, input, epoch, due_at, rank_at)
       VALUES ($1, 'held', 1, 'running', 'first', '{"hold":false}', 0, now(), now())`,
      [next],
    );
    const done = await eventually(
      () => instance(next),
      (row) => row.status === 'completed',
    );
    expect(done.by).toBe(first.pid);
  });

  async function startWorker(environment: Record<string, string>): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start(environment);
    workers.push(worker);
    return worker;
  }

  /** Everything that a late write could have changed. */
  async function instance(id: string): Promise<{ status: string; by?: number; row: string }> {
    const { rows } = await databases.sagas.query<{ status: string; by: number; row: string }>(
      `SELECT i.status, (s.result ->> 'by')::int AS by,
         (SELECT json_build_object('instance', i, 'steps', json_agg(t ORDER BY t.name))::text
          FROM saga.step t WHERE t.saga_id = i.id) AS row
       FROM saga.instance i LEFT JOIN saga.step s ON s.saga_id = i.id AND s.name = 'second' WHERE i.id = $1`,
      [id],
    );
    return rows[0]!;
  }
});
