// The first saga of a new process, one at a time, with the defaults of SagaModule.forRoot(), TypeORM and Node: how much longer
// it takes than those that follow. Median of several processes. --processes=9 --sagas=1600
import { percentile } from '../lib/figures.mjs';
import { args, createApp, createDatabase, emit, run } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { inNewProcess } from './new-process.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const processes = args.processes ?? 9;
const sagas = args.sagas ?? 1_600;
/** How many sagas a p50 is of. */
const SOME = 100;
const Plain = sagaOfSteps(3);

/** Its application has started, and nothing else has happened. Sends the time of each saga. */
async function runOnce() {
  const app = await createApp({ db: args.db, sagas: [Plain], worker: { concurrency: undefined } });
  const { times } = await closedLoop(app.service, Plain, { n: sagas, window: 1 });
  process.send(times);
  await app.close();
  process.exit(0);
}

const p50From = (times, at) => percentile(times.slice(at, at + SOME), 0.5);

if (args.db) await runOnce();
else
  await run(async () => {
    const db = await createDatabase();
    // Makes the tables, which is not what a process does.
    await inNewProcess(import.meta.url, [`--db=${db}`, '--sagas=1']);
    const runs = [];
    for (let k = 0; k < processes; k += 1)
      runs.push(await inNewProcess(import.meta.url, [`--db=${db}`, `--sagas=${sagas}`]));
    const median = (of) => percentile(runs.map(of), 0.5);
    const complete = await allThere(db, { sagas: 1 + processes * sagas });
    const warm_ms = median((times) => p50From(times, sagas - SOME));
    const first_ms = median((times) => times[0]);
    const after_300_ms = median((times) => p50From(times, 300 - SOME));
    emit(
      { first_ms, over_warm_ms: first_ms - warm_ms, after_300_ms, warm_ms },
      { processes, sagas, complete },
    );
  });
