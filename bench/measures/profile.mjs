// Where the time of a loaded process goes, by a sampling profiler, and where PostgreSQL's does, by pg_stat_statements.
// --n=100000 --warm=20000 --window=1000
import { Session } from 'node:inspector/promises';
import { admin } from '../lib/database.mjs';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 100_000;
const warm = Math.min(n, args.warm ?? 20_000);
const window = args.window ?? 1_000;
/** µs. */
const SAMPLING_INTERVAL = 500;

/** By the name of what runs, if it is V8's or the system's, and by its file. The first that fits. */
const PLACES = [
  ['Node: collects garbage', { name: /^\(garbage collector\)$/ }],
  ['Node: has nothing to do', { name: /^\(idle\)$/ }],
  ['Node: sends statements (system call)', { name: /^(writev|write\w*String|writeBuffer)$/ }],
  ['Node: runs promises', { name: /^(runMicrotasks|processTicksAndRejections)$/ }],
  ['Node: the engine', { url: '/saga/dist/engine/' }],
  ['Node: the machine', { url: '/saga/dist/machine/' }],
  ['Node: statements and answers', { url: '/saga/dist/store/' }],
  ['Node: SagaService', { url: '/saga/dist/' }],
  ['Node: pg', { url: '/node_modules/pg' }],
  ['Node: the benchmark and its saga', { url: '/bench/' }],
];

function placeOf({ functionName, url }) {
  const fits = ({ name, url: part }) => (name ? name.test(functionName) : url.includes(part));
  return PLACES.find(([, pattern]) => fits(pattern))?.[0] ?? 'Node: all else';
}

/** µs of each place. */
async function profiled(work) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL });
  await session.post('Profiler.start');
  const ran = await work();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  const places = new Map(profile.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const times = new Map([...PLACES.map(([place]) => place), 'Node: all else'].map((place) => [place, 0]));
  profile.samples.forEach((id, k) => {
    const place = places.get(id);
    times.set(place, times.get(place) + profile.timeDeltas[k]);
  });
  return { ...ran, times };
}

/** µs that statements took, those that they waited included, by what they do. */
async function statements(db) {
  const rows = await admin(
    `SELECT CASE WHEN query ~ 'start_\\d+\\(' THEN 'PostgreSQL: starts' WHEN query ~ 'checkpoint_\\d+\\(' THEN 'PostgreSQL: checkpoints'
       ELSE 'PostgreSQL: all else' END AS place, sum(1000 * (total_exec_time + total_plan_time))::float8 AS us
     FROM pg_stat_statements WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = $1) GROUP BY 1 ORDER BY 1 DESC`,
    [db],
  );
  return new Map(rows.map(({ place, us }) => [place, us]));
}

await run(async () => {
  const db = await createDatabase();
  const Plain = sagaOfSteps(3);
  const { ran, before, after } = await withApp({ db, sagas: [Plain] }, async (service) => {
    await closedLoop(service, Plain, { n: warm, window });
    const before = await statements(db);
    const ran = await profiled(() => closedLoop(service, Plain, { n, window }));
    return { ran, before, after: await statements(db) };
  });
  const complete = await allThere(db, { sagas: warm + n });
  const tell = (where, us, of) =>
    emit(
      { us_per_saga: us / n, share_pct: of && (100 * us) / of },
      { where, n, in_flight: window, complete },
    );
  emit(ran.stalls, { n, in_flight: window, complete });
  for (const [where, us] of ran.times) tell(where, us, 1e6 * ran.secs);
  for (const [where, us] of after) tell(where, us - (before.get(where) ?? 0), undefined);
});
