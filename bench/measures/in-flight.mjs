// So many sagas in flight: how many a second, how long each takes, and what it costs.
// --windows=1,10,100,1000,5000 --n=40000 (fewer of them in small windows) --warm=1500
import { costing } from './costing.mjs';
import { args, createDatabase, emit, numbers, run, withApp } from './lib.mjs';
import { closedLoop, latencies } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 40_000;
const warm = args.warm ?? 1_500;

async function inFlight(window) {
  const db = await createDatabase();
  const Plain = sagaOfSteps(3);
  const count = Math.ceil(n * Math.min(1, window / 20));
  const ran = await withApp(
    { db, sagas: [Plain], worker: { concurrency: Math.max(window, 100) } },
    async (service) => {
      await closedLoop(service, Plain, { n: warm, window });
      return costing(db, () => closedLoop(service, Plain, { n: count, window }));
    },
  );
  const { node_cpu_us_per_saga, server_cpu_us_per_saga } = ran.costs;
  emit(
    {
      ...{ sagas_per_s: count / ran.secs, ...latencies(ran.times) },
      ...{ node_cpu_us_per_saga, server_cpu_us_per_saga, ...ran.stalls },
    },
    { in_flight: window, n: count, complete: await allThere(db, { sagas: warm + count }) },
  );
}

await run(async () => {
  for (const window of numbers(args.windows ?? '1,10,100,1000,5000')) await inFlight(window);
});
