// What workers with nothing to do ask of the server: applications in one process, each with a worker and a
// pool of its own.
// --workers=1,50 --secs=30 --settle=12
import { delta, snapshot } from '../lib/counters.mjs';
import { now, sleep } from '../lib/figures.mjs';
import { serverCpu } from '../lib/server-cpu.mjs';
import { args, createApp, createDatabase, emit, numbers, run } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

/** Longer than a pool keeps unused connections. */
const settle = args.settle ?? 12;
const SAGAS = 20;

async function idle(workers) {
  const db = await createDatabase();
  const Plain = sagaOfSteps(3);
  const apps = [];
  // Fifty pools of ten would be more connections than the server has.
  const pool = workers > 10 ? 3 : 10;
  for (let k = 0; k < workers; k += 1) apps.push(await createApp({ db, sagas: [Plain], pool }));
  await closedLoop(apps[0].service, Plain, { n: SAGAS });
  await sleep(1_000 * settle);
  const before = await snapshot(db);
  const [cpu, serverBefore, began] = [process.cpuUsage(), await serverCpu(), now()];
  await sleep(1_000 * (args.secs ?? 30));
  const serverAfter = await serverCpu();
  const [{ user, system }, secs] = [process.cpuUsage(cpu), (now() - began) / 1_000];
  const used = delta(before, await snapshot(db));
  for (const { close } of apps) await close();
  emit(
    {
      stmts_per_s: used.stmts / secs,
      stmts_per_worker_per_s: used.stmts / secs / workers,
      node_cpu_pct: (user + system) / 1e4 / secs,
      server_cpu_pct: serverBefore === undefined ? undefined : (100 * (serverAfter - serverBefore)) / secs,
    },
    { workers, secs: Math.round(secs), complete: await allThere(db, { sagas: SAGAS }) },
  );
}

await run(async () => {
  for (const workers of numbers(args.workers ?? '1,50')) await idle(workers);
});
