// What measures have in common that run one saga with one window: throughput, and what a saga costs.
import { costing } from './costing.mjs';
import { args, createDatabase, emit, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { allThere } from './stored.mjs';

/** @param stored what has to be there in the end, but for how many */
export async function oneLoad(saga, { n, stored = {}, stepsOfEach = 3 }) {
  const window = args.window ?? 1_000;
  const warm = Math.min(3_000, n);
  const db = await createDatabase();
  const ran = await withApp({ db, sagas: [saga] }, async (service) => {
    await closedLoop(service, saga, { n: warm, window });
    return costing(db, () => closedLoop(service, saga, { n, window }));
  });
  const sagas = warm + n;
  emit(
    { sagas_per_s: n / ran.secs, ...ran.costs, ...ran.stalls },
    { n, in_flight: window, complete: await allThere(db, { sagas, steps: sagas * stepsOfEach, ...stored }) },
  );
}
