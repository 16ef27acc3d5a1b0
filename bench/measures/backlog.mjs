// Due sagas that no worker has run yet: how fast a worker drains them, at first and in the end.
// --due=1000000 --seconds=60 --slice=5 seconds
import { admin, client } from '../lib/database.mjs';
import { now, sleep } from '../lib/figures.mjs';
import { multiply, vacuumSagas } from '../lib/multiply.mjs';
import { watchStalls } from '../lib/stalls.mjs';
import { args, createApp, createDatabase, emit, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { counted } from './stored.mjs';

const due = args.due ?? 1_000_000;
const seconds = args.seconds ?? 60;
const slice = args.slice ?? 5;
const CONCURRENCY = 1_000;

let done = 0;
const Plain = sagaOfSteps(3, {
  body: (_ctx, n) => {
    if (n === 3) done += 1;
    return n;
  },
});

/** Started by a process without a worker; the others are its copies, a millisecond apart. */
async function fill(db) {
  const id = await withApp(
    { db, sagas: [Plain], worker: false },
    async (service) => (await service.start(Plain, { i: 0 })).id,
  );
  const since = `now() - (${due} - n) * interval '1 millisecond' - interval '1 second'`;
  await multiply(db, id, due - 1, { set: { due_at: since, rank_at: since }, age: '1 hour' });
  await vacuumSagas(db);
}

/** In another database, so that the first slice is not that of code which is still to be compiled. */
async function warmUp() {
  const db = await createDatabase();
  await withApp({ db, sagas: [Plain] }, (service) => closedLoop(service, Plain, { n: 3_000 }));
  done = 0;
}

/** Sagas a second in each slice of the time, until nothing is left. */
async function drain(db) {
  const app = await createApp({ db, sagas: [Plain], worker: { concurrency: CONCURRENCY } });
  const rates = [];
  const endWatch = await watchStalls();
  // By number, since one that is cut short by a late timer says nothing.
  for (let k = 0; k < Math.floor(seconds / slice) && done < due; k += 1) {
    const [from, began] = [done, now()];
    await sleep(1_000 * slice);
    // Neither does one in which the backlog became empty.
    if (done < due) rates.push((1_000 * (done - from)) / (now() - began));
  }
  const stalls = await endWatch();
  const calls = await claims(db);
  await app.close();
  return { rates, calls, stalls };
}

async function claims(db) {
  const [{ calls }] = await admin(
    `SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements
     WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1) AND query ~ '\\.claim_(\\w+_)?\\d+\\(' AND toplevel`,
    [db],
  );
  if (calls === 0)
    throw new Error('No statement was recognised as a claim, although only claims drain a backlog.');
  return calls;
}

/**
 * Checks that ended sagas are complete, and that every saga whose last step ran has ended, except interrupted
 * ones.
 */
async function allOf(db) {
  const { sagas } = await counted(db);
  const c = await client(db);
  const { rows } = await c.query(
    `SELECT count(*)::int AS n FROM saga.instance i WHERE status = 'completed'
       AND (SELECT count(*) FROM saga.step s WHERE s.saga_id = i.id AND s.status = 'completed') <> 3`,
  );
  await c.end();
  if (rows[0].n === 0 && sagas <= done && done - sagas <= CONCURRENCY) return true;
  console.error(`${done} sagas ran; ${sagas} have ended, ${rows[0].n} of them without their steps`);
  return false;
}

await run(async () => {
  const db = await createDatabase();
  await fill(db);
  await warmUp();
  const { rates, calls, stalls } = await drain(db);
  if (rates.length < 2) console.error(`${due} due sagas are too few for two slices of ${slice} s`);
  const complete = (await allOf(db)) && rates.length > 1;
  emit(
    {
      first_sagas_per_s: rates[0],
      last_sagas_per_s: rates.at(-1),
      last_to_first_ratio: rates.at(-1) / rates[0],
      claims_per_saga: calls / done,
      ...stalls,
    },
    { due, drained: done, slices: rates.length, complete },
  );
});
