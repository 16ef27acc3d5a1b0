// Tables that have grown, beside empty ones in the same run. --finished=10000000 --waiting=1000000 --n=30000 --reps=5
import { client } from '../lib/database.mjs';
import { sleep } from '../lib/figures.mjs';
import { multiply } from '../lib/multiply.mjs';
import { args, run } from './lib.mjs';
import { sagaOfSteps, waitingSaga } from './sagas.mjs';
import { sideBySide } from './side-by-side.mjs';

const finished = args.finished ?? 10_000_000;
const waiting = args.waiting ?? 1_000_000;
const n = args.n ?? 30_000;
const reps = args.reps ?? 5;
const Plain = sagaOfSteps(3);
const Old = sagaOfSteps(3, { name: 'old' });
const Waiting = waitingSaga();

/** One of each is run, and then copied. */
async function fill({ db, service }) {
  const began = performance.now();
  const old = await service.start(Old, { i: 0 });
  await old.outcome();
  const { id } = await service.start(Waiting, { i: 0 });
  await untilIdle(db, id);
  await multiply(db, old.id, finished - 1, { age: '30 days' });
  await multiply(db, id, waiting - 1, { age: '20 days' });
  console.error(`filled in ${Math.round((performance.now() - began) / 1_000)} s`);
}

async function untilIdle(db, id) {
  const c = await client(db);
  while ((await c.query('SELECT FROM saga.instance WHERE id = $1 AND rank_at IS NULL', [id])).rowCount === 0)
    await sleep(20);
  await c.end();
}

await run(
  () => sideBySide({ plain: Plain, others: [Old, Waiting], n, reps, fill, params: { finished, waiting } }),
  7_200,
);
