import { NestFactory } from '@nestjs/core';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule, SagaService } from 'nestjs-durable-saga';
import { checkOrders } from './support/check-orders.js';
import { type ChaosDatabases, createChaosDatabases, eventually } from './support/chaos-databases.js';
import { WorkerProcess } from './support/worker-process.js';
import { ChaosOrderSaga } from './programs/order.saga.js';
import { Participants } from './programs/participants.js';

const SAGAS = 2_000;
const PROCESSES = 4;
const KILLS = 20;

describe('workers are killed with SIGKILL at random moments', () => {
  let databases: ChaosDatabases;
  let workers: WorkerProcess[];

  beforeAll(async () => {
    databases = await createChaosDatabases();
    workers = await Promise.all(
      Array.from({ length: PROCESSES }, () => WorkerProcess.start(databases.environment)),
    );
  }, 60_000);

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await databases.drop();
  });

  test(`${KILLS} kills over ${SAGAS} sagas in ${PROCESSES} processes: every saga ends, nothing is doubled, missing or left undone`, async () => {
    process.env.PARTICIPANT_URL = databases.environment.PARTICIPANT_URL;

    @Module({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: databases.environment.DATABASE_URL }),
        SagaModule.forRoot({ worker: false }),
      ],
      providers: [Participants, ChaosOrderSaga],
    })
    class StarterModule {}

    const starter = await NestFactory.createApplicationContext(StarterModule, { logger: false });
    const sagas = starter.get(SagaService);
    const starting = startAll(sagas);

    for (let kill = 0; kill < KILLS; kill += 1) {
      // Not for luck: the moments of the kills are meant to be random.
      await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 400));
      const victim = Math.floor(Math.random() * PROCESSES);
      await workers[victim]!.kill('SIGKILL');
      workers[victim] = await WorkerProcess.start(databases.environment);
    }

    await starting;
    await eventually(
      () => unfinished(databases),
      (n) => n === 0,
    );
    const { wrong, repeated } = await checkOrders(databases.sagas, databases.participants);
    expect(wrong).toEqual([]);
    // Kills did hit steps under way: some calls were made again, with the same key.
    expect(repeated).toBeGreaterThan(0);
    const { rows } = await databases.sagas.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM saga.instance',
    );
    expect(rows[0]!.n).toBe(SAGAS);
    await starter.close();
  }, 300_000);
});

/** Spread over the time in which workers are killed. */
async function startAll(sagas: SagaService): Promise<void> {
  for (let n = 0; n < SAGAS; n += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, k) =>
        sagas.start(
          ChaosOrderSaga,
          { n: n + k, refused: k % 5 === 0, shaky: k % 7 === 0 },
          { correlationId: `order-${n + k}` },
        ),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function unfinished({ sagas }: ChaosDatabases): Promise<number> {
  const { rows } = await sagas.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM saga.instance WHERE status NOT IN ('completed', 'compensated', 'aborted')`,
  );
  return rows[0]!.n;
}
