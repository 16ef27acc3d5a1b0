// A new process with the defaults of SagaModule.forRoot(), TypeORM and Node: throughput from the first moment of a load on, in
// slices of time. How long it takes until Node has compiled what runs.
// --seconds=2 --slice=250 ms --warm=300 sagas before --window=1000
import { PerformanceObserver } from 'node:perf_hooks';
import { now, sleep } from '../lib/figures.mjs';
import { windowed } from '../lib/windowed.mjs';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const seconds = args.seconds ?? 2;
const slice = args.slice ?? 250;
const warm = args.warm ?? 300;
const window = args.window ?? 1_000;
const Plain = sagaOfSteps(3);

let collecting = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collecting += duration;
}).observe({ entryTypes: ['gc'] });

/** What happens in the next `ms`: sagas, the time that collections took, and the processor's. */
async function within(ms, ended) {
  const [sagas, collected, began, cpu] = [ended(), collecting, now(), process.cpuUsage()];
  await sleep(ms);
  const time = now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return {
    sagas_per_s: (1_000 * (ended() - sagas)) / time,
    node_cpu_pct: (user + system) / 10 / time,
    collecting_pct: (100 * (collecting - collected)) / time,
  };
}

async function load(service) {
  let [started, ended, goesOn] = [0, 0, true];
  const running = windowed(0, window, window, async () => {
    while (goesOn) {
      const handle = await service.start(Plain, { i: started++ });
      await handle.outcome();
      ended += 1;
    }
  });
  const slices = [];
  while (slices.length * slice < 1_000 * seconds) slices.push(await within(slice, () => ended));
  goesOn = false;
  await running;
  return { slices, started };
}

await run(async () => {
  const db = await createDatabase();
  const { slices, started } = await withApp(
    { db, sagas: [Plain], worker: { concurrency: undefined } },
    async (service) => {
      if (warm > 0) await closedLoop(service, Plain, { n: warm, window });
      return load(service);
    },
  );
  const complete = await allThere(db, { sagas: warm + started });
  slices.forEach((figures, n) => emit(figures, { after_ms: n * slice, in_flight: window, warm, complete }));
});
