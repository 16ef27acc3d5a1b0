// Throughput as load rises beyond what a worker runs at once: so many sagas in flight, and so many arriving a second, with
// the default options and with several values of worker.concurrency.
// --concurrency=default,10,100,1000 --windows=1,10,100,300,1000,5000,20000 --loads=0.5,1,1.5,2,3 (times the best of the
// windows; 0 for none) --n=30000 (fewer of them in small windows) --seconds=5 --warm=1500
import { args, createDatabase, emit, numbers, run, withApp } from './lib.mjs';
import { closedLoop, openLoop, seeded } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 30_000;
const warm = args.warm ?? 1_500;
const seconds = args.seconds ?? 5;
const windows = numbers(args.windows ?? '1,10,100,300,1000,5000,20000');
const loads = numbers(args.loads ?? '0.5,1,1.5,2,3').filter((load) => load > 0);
const settings = String(args.concurrency ?? 'default,10,100,1000').split(',');

/** Sagas a second, with a database and an application of its own. */
async function measured(concurrency, params, load) {
  const db = await createDatabase();
  const Plain = sagaOfSteps(3);
  const worker = { concurrency: concurrency === 'default' ? undefined : Number(concurrency) };
  const { count, rate, stalls } = await withApp({ db, sagas: [Plain], worker }, async (service) => {
    await closedLoop(service, Plain, { n: warm, window: 100 });
    return load(service, Plain);
  });
  const complete = await allThere(db, { sagas: warm + count });
  emit({ sagas_per_s: rate, ...stalls }, { concurrency, ...params, n: count, complete });
  return rate;
}

const inFlight = (window) => async (service, saga) => {
  // Long enough to fill the window several times.
  const count = Math.max(Math.ceil(n * Math.min(1, window / 100)), Math.min(window * 3, n * 2));
  const { secs, stalls } = await closedLoop(service, saga, { n: count, window });
  return { count, rate: count / secs, stalls };
};

/** Counted until the last one has ended: what arrives too fast is taken in first, and run later. */
const arriving = (rate) => async (service, saga) => {
  const goesOn = (gone) => gone < 1_000 * seconds;
  const ran = await openLoop(service, saga, { rate, random: seeded(1), keepTimes: false, goesOn });
  return { count: ran.n, rate: ran.n / ran.secs, stalls: ran.stalls };
};

/** The least of the figures behind the best one, as a part of it. */
function leastAfterPeak(rates) {
  const best = Math.max(...rates);
  return Math.min(...rates.slice(rates.indexOf(best))) / best;
}

await run(async () => {
  for (const concurrency of settings) {
    const closed = [];
    for (const window of windows)
      closed.push(await measured(concurrency, { in_flight: window }, inFlight(window)));
    const best = Math.max(...closed);
    const open = [];
    for (const load of loads)
      open.push(await measured(concurrency, { load, arriving_per_s: load * best }, arriving(load * best)));
    emit({ in_flight_least_ratio: leastAfterPeak(closed) }, { concurrency });
    if (open.length > 0) emit({ arriving_least_ratio: leastAfterPeak(open) }, { concurrency });
  }
});
