import { SagaService } from 'nestjs-durable-saga';
import { checkOrders } from './support/check-orders.js';
import { type ChaosDatabases, eventually } from './support/chaos-databases.js';
import { startOrders } from './support/start-orders.js';
import { createStarter } from './support/starter-app.js';
import { WorkerFleet } from './support/worker-fleet.js';
import { firstToHold, type WorkerProcess } from './support/worker-process.js';
import { ChaosOrderSaga } from './programs/order.saga.js';

const PROCESSES = 4;
/** More of them: KILLS=50. */
const KILLS = Number(process.env.KILLS ?? 10);
/** Sagas started before each kill, so that every kill interrupts running work. */
const SAGAS_A_KILL = 60;
const SAGAS = KILLS * SAGAS_A_KILL;

describe('workers are killed with SIGKILL, at random moments and in the middle of a step', () => {
  let fleet: WorkerFleet;

  beforeAll(async () => {
    fleet = await WorkerFleet.start(PROCESSES);
  }, 60_000);

  afterAll(() => fleet.end());

  test(`${KILLS} kills over ${SAGAS} sagas in ${PROCESSES} processes: every saga ends, nothing is doubled, missing or left undone`, async () => {
    const { databases, workers } = fleet;
    const starter = await createStarter(databases, [ChaosOrderSaga]);
    const sagas = starter.get(SagaService);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const inStep = kill % 2 === 0;
      await startOrders(sagas, {
        first: kill * SAGAS_A_KILL,
        count: SAGAS_A_KILL,
        held: inStep,
      });
      const victim = inStep ? await firstToHold(workers) : await someLater(workers);
      await fleet.replace(victim);
    }

    await eventually(
      () => unfinished(databases),
      (n) => n === 0,
    );
    await starter.close();
    const { wrong, repeated } = await checkOrders(databases.sagas, databases.participants);
    expect(wrong).toEqual([]);
    // The calls that kills interrupted were made again, with the same key.
    expect(repeated).toBeGreaterThanOrEqual(KILLS / 2);
    const { rows } = await databases.sagas.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM saga.instance',
    );
    expect(rows[0]!.n).toBe(SAGAS);
  }, 300_000);
});

/** Any, at any moment: nothing hangs on what it hits. */
async function someLater(workers: WorkerProcess[]): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
  return Math.floor(Math.random() * workers.length);
}

async function unfinished({ sagas }: ChaosDatabases): Promise<number> {
  const { rows } = await sagas.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM saga.instance WHERE status NOT IN ('completed', 'compensated', 'aborted')`,
  );
  return rows[0]!.n;
}
