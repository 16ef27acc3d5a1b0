// Where the time of a loaded process goes, by a sampling profiler, and where PostgreSQL's does, by pg_stat_statements: with
// sagas that complete, that roll back because the last step is refused, and whose steps fail twice, one after the other.
// --n=100000 (a quarter of them of sagas that fail) --warm=20000 --window=1000
import { Session } from 'node:inspector/promises';
import { admin } from '../lib/database.mjs';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { failingSaga, refusedSaga, sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 100_000;
const warm = Math.min(n, args.warm ?? 20_000);
const window = args.window ?? 1_000;
/** µs. */
const SAMPLING_INTERVAL = 500;

const KINDS = [
  { kind: 'completed', saga: sagaOfSteps(3, { name: 'completed' }), count: n, metric: 'us_per_saga' },
  {
    ...{ kind: 'compensated', saga: refusedSaga(3, 'compensated'), count: Math.ceil(n / 4) },
    ...{ metric: 'compensated_us_per_saga' },
    stored: { status: 'compensated', stepStatus: ['completed', 'failed'] },
  },
  {
    ...{ kind: 'retried', saga: failingSaga(3, 'retried'), count: Math.ceil(n / 4) },
    metric: 'retried_us_per_saga',
  },
];

/** By the name of what runs, if it is V8's or the system's, and by its file. The first that fits. */
const PLACES = [
  ['Node: collects garbage', { name: /^\(garbage collector\)$/ }],
  ['Node: has nothing to do', { name: /^\(idle\)$/ }],
  [
    'Node: makes errors and their stacks',
    { name: /^(defaultPrepareStackTrace|get stack|SagaError|captureStackTrace)$/ },
  ],
  ['Node: sends statements (system call)', { name: /^(writev|write\w*String|writeBuffer)$/ }],
  ['Node: runs promises', { name: /^(runMicrotasks|processTicksAndRejections)$/ }],
  ['Node: the engine', { url: '/saga/dist/engine' }],
  ['Node: the machine', { url: '/saga/dist/machine' }],
  ['Node: statements and answers', { url: '/saga/dist/store' }],
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

/** A warm run of sagas of one kind. `node` and `server`: µs of all sagas by place. */
async function lookAt(db, service, { saga, count }) {
  await closedLoop(service, saga, { n: Math.min(count, warm), window });
  const before = await statements(db);
  const ran = await profiled(() => closedLoop(service, saga, { n: count, window }));
  const after = await statements(db);
  const server = [...after].map(([place, us]) => [place, us - (before.get(place) ?? 0)]);
  return { ran, node: [...ran.times], server };
}

await run(async () => {
  const db = await createDatabase();
  const sagas = KINDS.map(({ saga }) => saga);
  const looks = await withApp({ db, sagas }, async (service) => {
    const all = [];
    for (const kind of KINDS) all.push({ ...kind, ...(await lookAt(db, service, kind)) });
    return all;
  });
  let complete = true;
  for (const { kind, count, stored } of KINDS) {
    const all = Math.min(count, warm) + count;
    complete = (await allThere(db, { sagas: all, name: kind, mixed: true, ...stored })) && complete;
  }
  for (const { count, metric, ran, node, server } of looks) {
    const params = { n: count, in_flight: window, complete };
    if (metric === 'us_per_saga') emit(ran.stalls, params);
    for (const [where, us] of node) {
      const share = metric === 'us_per_saga' && { share_pct: (100 * us) / (1e6 * ran.secs) };
      emit({ [metric]: us / count, ...share }, { where, ...params });
    }
    for (const [where, us] of server) emit({ [metric]: us / count }, { where, ...params });
  }
});
