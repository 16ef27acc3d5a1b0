// Tables that have grown, beside empty ones in the same run. --finished=10000000 --waiting=10000000 --n=30000 --reps=5
import { multiply } from '../lib/multiply.mjs';
import { args, run } from './lib.mjs';
import { sagaOfSteps, waitingSaga } from './sagas.mjs';
import { sideBySide } from './side-by-side.mjs';
import { oneOfEach } from './stored.mjs';

const finished = args.finished ?? 10_000_000;
const waiting = args.waiting ?? 10_000_000;
const n = args.n ?? 30_000;
const reps = args.reps ?? 5;
const Plain = sagaOfSteps(3);
const Old = sagaOfSteps(3, { name: 'old' });
const Waiting = waitingSaga();

async function fill({ db, service }) {
  const began = performance.now();
  const [old, waits] = await oneOfEach({ db, service }, Old, Waiting);
  await multiply(db, old, finished - 1, { age: '30 days' });
  await multiply(db, waits, waiting - 1, { age: '20 days' });
  console.error(`filled in ${Math.round((performance.now() - began) / 1_000)} s`);
}

await run(
  () => sideBySide({ plain: Plain, others: [Old, Waiting], n, reps, fill, params: { finished, waiting } }),
  7_200,
);
