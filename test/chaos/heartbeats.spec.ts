import { SagaService } from 'nestjs-durable-saga';
import { ResumingSaga } from './programs/resuming.saga.js';
import { type ChaosDatabases, createChaosDatabases, eventually } from './support/chaos-databases.js';
import { createStarter } from './support/starter-app.js';
import { WorkerProcess } from './support/worker-process.js';

const LINES = 200_000;

describe('a process is killed in a step that reports heartbeats', () => {
  let databases: ChaosDatabases;
  const workers: WorkerProcess[] = [];

  beforeAll(async () => {
    databases = await createChaosDatabases();
  });
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await databases.drop();
  });

  test('another one continues after the last details that are stored, and they are at most a second old', async () => {
    const first = await startWorker();
    const { nest, id } = await start();
    try {
      expect(await first.reported('loading')).toMatchObject({ attempt: 1, from: 0 });
      // The second time that they are stored: they are written again and again.
      const begun = await storedLine(id, 0);
      const stored = await storedLine(id, begun);
      await first.kill();
      const last = await storedLine(id, 0);
      const second = await startWorker();
      const loading = (await second.reported('loading')) as unknown as { attempt: number; from: number };
      expect(loading).toMatchObject({ attempt: 2, from: last });
      expect(loading.from).toBeGreaterThanOrEqual(stored);
      const { results } = await nest.get(SagaService).wait<ResumingSaga>(id);
      expect(results.load).toEqual({ from: last, to: LINES });
    } finally {
      await nest.close();
    }
  }, 120_000);

  async function startWorker(): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start({ ...databases.environment, LEASE: '3000' });
    workers.push(worker);
    return worker;
  }

  async function start() {
    const nest = await createStarter(databases, [ResumingSaga]);
    const { id } = await nest.get(SagaService).start(ResumingSaga, { lines: LINES });
    return { nest, id };
  }

  /** The line of the last heartbeat that is stored, once it is beyond another. */
  async function storedLine(id: string, beyond: number): Promise<number> {
    const read = async () => {
      const { rows } = await databases.sagas.query<{ line: number | null }>(
        `SELECT (reports #>> '{load,heartbeat,details,line}')::int AS line FROM saga.instance WHERE id = $1`,
        [id],
      );
      return rows[0]?.line ?? 0;
    };
    return eventually(read, (line) => line > beyond);
  }
});
