// Worker processes side by side on one database, each of which starts and runs its share; all begin together,
// and what
// counts is the time until the last is done.
// --processes=1,2,4,8 --n=40000 in all --window=1000 in each --warm=3000 in each
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { args, createApp, createDatabase, emit, numbers, run } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { worstOf } from '../lib/stalls.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 40_000;
const window = args.window ?? 1_000;
const warm = args.warm ?? 3_000;
const Plain = sagaOfSteps(3);

/** A worker process: reports when it is warm, runs its share on command, and reports when that is done. */
async function work() {
  process.once('disconnect', () => process.exit(1));
  const app = await createApp({ db: args.db, sagas: [Plain] });
  await closedLoop(app.service, Plain, { n: warm, window });
  process.send('warm');
  await once(process, 'message');
  const { stalls } = await closedLoop(app.service, Plain, { n: args.share, window });
  process.send({ ended: Date.now(), stalls });
  process.removeAllListeners('disconnect');
  await app.close();
  process.exit(0);
}

async function together(processes) {
  const db = await createDatabase();
  // The tables are made by one, and not waited for by the others.
  await (await createApp({ db, sagas: [Plain], worker: false })).close();
  const share = Math.floor(n / processes);
  const flags = [`--db=${db}`, `--share=${share}`, `--window=${window}`, `--warm=${warm}`];
  const children = Array.from({ length: processes }, () =>
    fork(fileURLToPath(import.meta.url), flags, { execArgv: process.execArgv }),
  );
  const answers = () => Promise.all(children.map((child) => answerOf(child)));
  await answers();
  const began = Date.now();
  const ends = answers();
  for (const child of children) child.send('go');
  const reports = await ends;
  const last = Math.max(...reports.map(({ ended }) => ended));
  await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')));
  const sagas = processes * (warm + share);
  emit(
    {
      sagas_per_s: (1_000 * processes * share) / (last - began),
      ...worstOf(reports.map(({ stalls }) => stalls)),
    },
    { processes, n: processes * share, complete: await allThere(db, { sagas }) },
  );
}

/** What it says next. */
function answerOf(child) {
  return new Promise((resolve, reject) => {
    const ended = (code) => reject(new Error(`a worker process ended with ${code}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

if (args.share) await work();
else
  await run(async () => {
    for (const processes of numbers(args.processes ?? '1,2,4,8')) await together(processes);
  });
