// What failures cost, beside sagas of the same three steps that complete: some that roll back, since the last step is refused,
// and some whose steps each fail twice. In turn in one process, so that the noise of the machine is all of theirs.
// --rounds=5 --n=10000 --window=1000
import { admin, client } from '../lib/database.mjs';
import { costing } from './costing.mjs';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { failingSaga, refusedSaga, sagaOfSteps } from './sagas.mjs';

const window = args.window ?? 1_000;
const n = args.n ?? 10_000;
const rounds = args.rounds ?? 5;
const STEPS = 3;
const RETRIES = 2 * STEPS;

const KINDS = {
  completed: sagaOfSteps(STEPS, { name: 'completed', body: (_ctx, step) => step }),
  compensated: refusedSaga(STEPS, 'compensated'),
  retried: failingSaga(STEPS, 'retried'),
};

const lsn = async () => (await admin('SELECT pg_current_wal_insert_lsn() AS lsn'))[0].lsn;

/**
 * Bytes of the records, and of the images of pages in them. How many images there are depends on when the last checkpoint
 * of the server was, and not on what is measured.
 */
async function walBetween(from, to) {
  const [wal] = await admin(
    'SELECT sum(record_size)::float8 AS records, sum(fpi_size)::float8 AS images FROM pg_get_wal_stats($1, $2)',
    [from, to],
  );
  return wal;
}

async function costOf(db, service, kind) {
  const { costs, stalls, from } = await costing(db, async () => {
    // Behind the checkpoint, which may remove what is before it.
    const from = await lsn();
    return { ...(await closedLoop(service, KINDS[kind], { n, window })), from };
  });
  const { records, images } = await walBetween(from, await lsn());
  return {
    record_bytes_per_saga: records / n,
    image_bytes_per_saga: images / n,
    node_cpu_us_per_saga: costs.node_cpu_us_per_saga,
    server_cpu_us_per_saga: costs.server_cpu_us_per_saga,
    cpu_us_per_saga: costs.node_cpu_us_per_saga + costs.server_cpu_us_per_saga,
    ...stalls,
  };
}

/** Within a round: a saga that rolls back to one that completes, and a retry to a third of that. */
function ratiosOf({ completed, compensated, retried }) {
  const [WAL, CPU] = ['record_bytes_per_saga', 'cpu_us_per_saga'];
  const back = (cost) => compensated[cost] / completed[cost];
  const retry = (cost) => (retried[cost] - completed[cost]) / RETRIES / (completed[cost] / STEPS);
  return {
    compensated: { wal_ratio: back(WAL), cpu_ratio: back(CPU) },
    retried: { wal_ratio: retry(WAL), cpu_ratio: retry(CPU) },
  };
}

async function allEnded(db) {
  const c = await client(db);
  const { rows } = await c.query(
    'SELECT name, status, count(*)::int FROM saga.instance GROUP BY name, status',
  );
  await c.end();
  const expected = n * (rounds + 1);
  const isAll = (name, status) =>
    rows.some((row) => row.name === name && row.status === status && row.count === expected);
  return (
    isAll('completed', 'completed') && isAll('compensated', 'compensated') && isAll('retried', 'completed')
  );
}

await run(async () => {
  await admin('CREATE EXTENSION IF NOT EXISTS pg_walinspect');
  const db = await createDatabase();
  const all = await withApp({ db, sagas: Object.values(KINDS) }, async (service) => {
    for (const saga of Object.values(KINDS)) await closedLoop(service, saga, { n, window });
    const measured = [];
    for (let round = 0; round < rounds; round += 1) {
      const costs = {};
      for (const kind of Object.keys(KINDS)) costs[kind] = await costOf(db, service, kind);
      measured.push(costs);
    }
    return measured;
  });
  const complete = await allEnded(db);
  for (const costs of all) {
    const ratios = ratiosOf(costs);
    for (const kind of Object.keys(KINDS))
      emit({ ...costs[kind], ...ratios[kind] }, { kind, n, in_flight: window, complete });
  }
});
