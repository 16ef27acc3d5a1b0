// Daily partitions of a long time, beside those that a new application has. --days=400 --finished=2500 (in each)
// --waiting=25 (in each) --n=150000 --reps=3
import { client } from '../lib/database.mjs';
import { makePartition } from '../lib/make-partition.mjs';
import { multiply } from '../lib/multiply.mjs';
import { args, run } from './lib.mjs';
import { sagaOfSteps, waitingSaga } from './sagas.mjs';
import { sideBySide } from './side-by-side.mjs';
import { oneOfEach } from './stored.mjs';

const days = args.days ?? 400;
const finished = args.finished ?? 2_500;
const waiting = args.waiting ?? 25;
const n = args.n ?? 150_000;
const reps = args.reps ?? 3;
const Plain = sagaOfSteps(3);
const Old = sagaOfSteps(3, { name: 'old' });
const Waiting = waitingSaga();
const DAY = 86_400_000;

async function fill({ db, service }) {
  const c = await client(db);
  // Those of today and of the days ahead are there.
  for (let day = 1; day <= days; day += 1) await makePartition(c, Date.now() - day * DAY);
  await c.end();
  const [old, waits] = await oneOfEach({ db, service }, Old, Waiting);
  for (let day = 1; day <= days; day += 1) {
    const copies = { age: `${day} days`, partitioned: true, lanes: 1 };
    await multiply(db, old, finished, copies);
    await multiply(db, waits, waiting, copies);
  }
}

await run(() =>
  sideBySide({
    ...{ plain: Plain, others: [Old, Waiting], n, reps, fill, params: { days, finished, waiting } },
    // Nothing is dropped while it is measured.
    options: { partitions: 'daily', retention: '1000d' },
  }),
);
