// Half of the sagas wait for a signal while the other half run: beside the same without those that wait.
// --n=20000 that run each time, and as many times --reps=3 that wait
import { client } from '../lib/database.mjs';
import { sleep } from '../lib/figures.mjs';
import { args, run } from './lib.mjs';
import { sagaOfSteps, waitingSaga } from './sagas.mjs';
import { sideBySide } from './side-by-side.mjs';
import { windowed } from '../lib/windowed.mjs';

const n = args.n ?? 20_000;
const reps = args.reps ?? 3;
const waiting = n * reps;
const Waiting = waitingSaga();

/** Started as any other, until all of them wait. */
async function letWait({ db, service }) {
  await windowed(0, waiting, 1_000, (i) => service.start(Waiting, { i }));
  const c = await client(db);
  const open = `SELECT FROM saga.instance WHERE name = 'waiting' AND rank_at IS NOT NULL LIMIT 1`;
  while ((await c.query(open)).rowCount > 0) await sleep(20);
  await c.end();
}

await run(() =>
  sideBySide({ plain: sagaOfSteps(3), others: [Waiting], n, reps, fill: letWait, params: { waiting } }),
);
