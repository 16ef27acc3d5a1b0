import { IN_A_STEP, LIMIT, WITNESS_TABLES } from './programs/limited.saga.js';
import { type ChaosDatabases, createChaosDatabases, eventually } from './support/chaos-databases.js';
import { WorkerProcess } from './support/worker-process.js';

const SAGAS = 60;
/** No lease ends by itself: how fast this machine is makes no difference. */
const LEASE = String(10 * 60_000);

describe.each([
  ['sagas with a limit', 'limited'],
  ['sagas whose step has a limit', 'slotted'],
])('a worker is killed with SIGKILL while it advances %s', (_, name) => {
  let databases: ChaosDatabases;
  let workers: WorkerProcess[] = [];

  beforeAll(async () => {
    databases = await createChaosDatabases();
    await databases.participants.query(WITNESS_TABLES);
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await databases.drop();
  });

  test(`no more than ${LIMIT} are ever in a step, its places are had again, and every saga ends`, async () => {
    const { sagas, participants } = databases;
    workers = await Promise.all(
      [1, 2, 3].map(() => WorkerProcess.start({ ...databases.environment, LEASE })),
    );
    await sagas.query(
      `INSERT INTO saga.instance (id, name, version, status, step, input, epoch, due_at, rank_at)
       SELECT gen_random_uuid(), $2, 1, 'running', 'work', json_build_object('n', n), 0, now(), now()
       FROM generate_series(1, $1) n`,
      [SAGAS, name],
    );
    await eventually(inside, (n) => n === LIMIT);
    const holders = await eventually(leased, ({ length }) => length === LIMIT);
    const victim = workers.find(({ pid }) => pid === holders[0])!;
    const lost = holders.filter((pid) => pid === victim.pid).length;

    await victim.kill('SIGKILL');
    await eventually(inside, (n) => n === LIMIT - lost);
    expect(await leased()).toHaveLength(LIMIT);
    // As if their time had come.
    await sagas.query(`UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE locked_by LIKE $1`, [
      `%:${victim.pid}:%`,
    ]);
    await eventually(inside, (n) => n === LIMIT);

    await participants.query('UPDATE gate SET open = true');
    const ended = `SELECT count(*)::int AS n FROM saga.instance WHERE status = 'completed'`;
    await eventually(
      async () => (await sagas.query<{ n: number }>(ended)).rows[0]!.n,
      (n) => n === SAGAS,
    );
    const { rows } = await participants.query('SELECT max(inside) AS most FROM witnessed');
    expect(rows).toEqual([{ most: LIMIT }]);
  }, 180_000);

  /** How many processes' sagas are in a step at this moment; who was killed is not. */
  async function inside(): Promise<number> {
    const { rows } = await databases.participants.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND classid = $1 AND objsubid = 2
         AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [IN_A_STEP],
    );
    return rows[0]!.n;
  }

  /** By whom, for each saga that is leased. */
  async function leased(): Promise<number[]> {
    const { rows } = await databases.sagas.query<{ locked_by: string }>(
      'SELECT locked_by FROM saga.instance WHERE locked_by IS NOT NULL AND due_at > now()',
    );
    return rows.map(({ locked_by }) => Number(locked_by.split(':').at(-2)));
  }
});
