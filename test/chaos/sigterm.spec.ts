import { SagaService } from 'nestjs-durable-saga';
import { pause } from '../support/gate.js';
import { LongSaga } from './programs/long.saga.js';
import { type ChaosDatabases, createChaosDatabases } from './support/chaos-databases.js';
import { createStarter } from './support/starter-app.js';
import { WorkerProcess } from './support/worker-process.js';

/** Milliseconds. Long enough for a slow machine to renew it in time. */
const LEASE = 5_000;

describe('a process with a step in progress receives SIGTERM', () => {
  let databases: ChaosDatabases;
  const workers: WorkerProcess[] = [];

  beforeAll(async () => {
    databases = await createChaosDatabases();
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.kill()));
  });
  afterAll(() => databases.drop());

  test('with shutdown hooks: the step finishes with every provider open, and another process continues immediately', async () => {
    const { id, first, idempotencyKey } = await startLongStep({});
    const second = await startWorker({});
    first.signal('SIGTERM');
    await first.reported('signalled');
    // Time enough to destroy a provider too early.
    await pause(300);
    expect([first.running, first.has('destroyed')]).toEqual([true, false]);
    first.send({ type: 'finish' });
    await first.reported('worked');
    // Nest ends the process by the signal that it received.
    expect(await first.ended()).toEqual({ code: null, signal: 'SIGTERM' });
    expect([first.has('destroyed'), first.has('confirmed')]).toEqual([true, false]);

    await second.reported('confirmed');
    expect(await outcomeOf(id)).toMatchObject({ status: 'completed', results: { work: { attempt: 1 } } });
    expect(second.has('working')).toBe(false);
    expect(await effectsOf(id)).toEqual([
      { key: `${idempotencyKey}/begin`, calls: 1 },
      { key: `${idempotencyKey}/end`, calls: 1 },
      { key: expect.stringMatching(/\/confirm$/) as string, calls: 1 },
    ]);
  }, 120_000);

  test('without: it ends immediately, and another process calls the step again after the lease, with the same key', async () => {
    const { id, first, idempotencyKey } = await startLongStep({ SHUTDOWN_HOOKS: 'false' });
    const second = await startWorker({ SHUTDOWN_HOOKS: 'false' });
    first.signal('SIGTERM');
    expect(await first.ended()).toEqual({ code: null, signal: 'SIGTERM' });
    expect([first.has('worked'), first.has('destroyed')]).toEqual([false, false]);
    const { rows: leases } = await databases.sagas.query<{ until: string }>(
      'SELECT due_at::text AS until FROM saga.instance WHERE id = $1 AND locked_by IS NOT NULL AND due_at > now()',
      [id],
    );
    expect(leases).toHaveLength(1);

    expect(await second.reported('working')).toMatchObject({ attempt: 2, idempotencyKey });
    const { rows: taken } = await databases.sagas.query<{ after: boolean }>(
      'SELECT leased_at >= $2::timestamptz AS after FROM saga.instance WHERE id = $1',
      [id, leases[0]!.until],
    );
    expect(taken).toEqual([{ after: true }]);
    expect(await outcomeOf(id)).toMatchObject({ status: 'completed', results: { work: { attempt: 2 } } });
    expect(await effectsOf(id)).toEqual([
      { key: `${idempotencyKey}/begin`, calls: 2 },
      { key: `${idempotencyKey}/end`, calls: 1 },
      { key: expect.stringMatching(/\/confirm$/) as string, calls: 1 },
    ]);
  }, 120_000);

  async function startWorker(environment: Record<string, string>): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start({
      ...{ ...databases.environment, LEASE: String(LEASE) },
      ...environment,
    });
    workers.push(worker);
    return worker;
  }

  /** A worker alone, which is in the middle of the first step of a saga. */
  async function startLongStep(environment: Record<string, string>) {
    const first = await startWorker(environment);
    const starter = await createStarter(databases, [LongSaga]);
    const { id } = await starter.get(SagaService).start(LongSaga, {});
    await starter.close();
    const { idempotencyKey } = await first.reported('working');
    return { id, first, idempotencyKey: String(idempotencyKey) };
  }

  async function outcomeOf(id: string) {
    const starter = await createStarter(databases, [LongSaga]);
    try {
      return await starter.get(SagaService).wait(id, { timeout: '60s' });
    } finally {
      await starter.close();
    }
  }

  /** What the steps did elsewhere, and how often, in order. */
  async function effectsOf(id: string) {
    const { rows } = await databases.participants.query<{ key: string; calls: number }>(
      'SELECT key, calls FROM effect WHERE saga_id = $1 ORDER BY seq',
      [id],
    );
    return rows;
  }
});
