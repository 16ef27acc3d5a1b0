// Latency at half of what the engine can do: sagas arrive by chance (Poisson), whether or not those before are finished.
// --n=60000 for finding the throughput, after --warm=20000 --seconds=20 --load=0.5 --seed=1
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { closedLoop, latencies, openLoop, seeded } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 60_000;
const warm = Math.min(n, args.warm ?? 20_000);
const seconds = args.seconds ?? 20;
const load = args.load ?? 0.5;

await run(async () => {
  const db = await createDatabase();
  const Plain = sagaOfSteps(3);
  const { full, ran, sagas } = await withApp({ db, sagas: [Plain] }, async (service) => {
    await closedLoop(service, Plain, { n: warm });
    const full = n / (await closedLoop(service, Plain, { n })).secs;
    const rate = load * full;
    const open = (ms) =>
      openLoop(service, Plain, { rate, random: seeded(args.seed ?? 1), goesOn: (gone) => gone < ms });
    const warming = await open(Math.min(2_000, 1_000 * seconds));
    const ran = await open(1_000 * seconds);
    return { full, ran, sagas: warm + n + warming.n + ran.n };
  });
  const times = latencies(ran.times);
  emit(
    {
      full_sagas_per_s: full,
      sagas_per_s: ran.n / ran.sent,
      ...times,
      p99_to_p50_ratio: times.p99_ms / times.p50_ms,
      ...ran.stalls,
    },
    { load, n: ran.n, complete: await allThere(db, { sagas }) },
  );
});
