// Memory over a long time of steady load: what is left on the heap after a collection, minute by minute.
// --minutes=60 --rate=500 sagas a second --slice=60 seconds
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { now } from '../lib/figures.mjs';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { openLoop, seeded } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const MB = 2 ** 20;
const minutes = args.minutes ?? 60;
const rate = args.rate ?? 500;
const slice = 1_000 * (args.slice ?? 60);

function memory() {
  for (let k = 0; k < 3; k += 1) collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { heap_mb: heapUsed / MB, rss_mb: rss / MB, external_mb: external / MB };
}

await run(
  async () => {
    const db = await createDatabase();
    const Plain = sagaOfSteps(3);
    const slices = [];
    const { n, secs } = await withApp({ db, sagas: [Plain] }, async (service) => {
      const began = now();
      const look = setInterval(() => slices.push({ minute: (now() - began) / 60_000, ...memory() }), slice);
      const ran = await openLoop(service, Plain, {
        rate,
        random: seeded(args.seed ?? 1),
        goesOn: (gone) => gone < 60_000 * minutes,
        keepTimes: false,
      });
      clearInterval(look);
      return ran;
    });
    const complete = await allThere(db, { sagas: n });
    for (const { minute, ...figures } of slices)
      emit(figures, { minute: Math.round(100 * minute) / 100, rate, complete });
    emit({ sagas_per_s: n / secs }, { rate, n, complete });
  },
  60 * minutes + 900,
);
