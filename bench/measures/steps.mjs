// Short and long sagas, as many in flight of each: with fewer, a commit would serve fewer steps. --steps=3,10,50,500
// --n=200000 steps of each --window=200
import { costing } from './costing.mjs';
import { args, createDatabase, emit, numbers, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 200_000;
const window = args.window ?? 200;

/** Steps. */
const WARM_UP = 30_000;

async function ofSteps(steps) {
  const db = await createDatabase();
  const Plain = sagaOfSteps(steps);
  const count = Math.ceil(n / steps);
  const warm = Math.ceil(WARM_UP / steps);
  const ran = await withApp({ db, sagas: [Plain] }, async (service) => {
    await closedLoop(service, Plain, { n: warm, window });
    return costing(db, () => closedLoop(service, Plain, { n: count, window }));
  });
  const sagas = warm + count;
  emit(
    {
      sagas_per_s: count / ran.secs,
      steps_per_s: (count * steps) / ran.secs,
      wal_bytes_per_saga: ran.costs.wal_bytes_per_saga,
      ...ran.stalls,
    },
    { steps, n: count, complete: await allThere(db, { sagas, steps: sagas * steps }) },
  );
}

await run(async () => {
  for (const steps of numbers(args.steps ?? '3,10,50,500')) await ofSteps(steps);
});
