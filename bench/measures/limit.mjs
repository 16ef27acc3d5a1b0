// What this server can do with the same rows by SQL alone, and what part of that the engine makes in the same run: the
// rows of 200 sagas a transaction, in four transactions each (a start and three checkpoints), by functions in the server.
// --clients=1,2,4 --n=100000 --warm=20000 --batch=200
import { client } from '../lib/database.mjs';
import { serverCpu } from '../lib/server-cpu.mjs';
import { args, createDatabase, emit, numbers, run, withApp } from './lib.mjs';
import { closedLoop, timed } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { differences, makeFunctions } from './same-rows.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 100_000;
const warm = Math.min(n, args.warm ?? 20_000);
const batch = args.batch ?? 200;
const STEPS = ['s1', 's2', 's3'];
const Plain = sagaOfSteps(3);

/** Next to no work in Node: the ids go back as the text that they came as. */
async function batches(c, count) {
  for (let k = 0; k < count; k += 1) {
    const { rows } = await c.query('SELECT bench.start($1)::text AS ids', [batch]);
    for (const step of STEPS) await c.query('SELECT bench.checkpoint($1, $2)', [rows[0].ids, step]);
  }
}

async function bySql(clients, db) {
  const count = Math.ceil(n / batch / clients);
  const connections = await Promise.all(Array.from({ length: clients }, () => client(db)));
  await Promise.all(connections.map((c) => batches(c, Math.ceil(count / 10))));
  await connections[0].query('CHECKPOINT');
  const ran = await withCpu(clients * count * batch, () =>
    timed(() => Promise.all(connections.map((c) => batches(c, count)))),
  );
  for (const c of connections) await c.end();
  return { ...ran, sagas: clients * (count + Math.ceil(count / 10)) * batch };
}

/** The rate of n sagas, and the µs of a processor that each took in Node and PostgreSQL together; NaN if unknown. */
async function withCpu(n, work) {
  const before = await serverCpu();
  const { secs, cpu, stalls } = await work();
  return { rate: n / secs, cpu: (1e6 * (cpu + ((await serverCpu()) - before))) / n, stalls };
}

async function ours() {
  const db = await createDatabase();
  const ran = await withApp({ db, sagas: [Plain] }, async (service) => {
    await closedLoop(service, Plain, { n: warm });
    return withCpu(n, () => closedLoop(service, Plain, { n }));
  });
  return { ...ran, complete: await allThere(db, { sagas: n + warm }) };
}

/** A database for each number of clients, in the tables that the library's migrations make. */
async function limitOf(clients) {
  const db = await createDatabase();
  await withApp({ db, sagas: [Plain] }, (service) => closedLoop(service, Plain, { n: 1 }));
  await makeFunctions(db, 'plain');
  const { rate, cpu, sagas } = await bySql(clients, db);
  const others = await differences(db);
  if (others.length > 0) console.error(`not the rows that the engine writes: ${others.join(', ')}`);
  const complete = others.length === 0 && (await allThere(db, { sagas: sagas + 1 }));
  emit(
    { sagas_per_s: rate, cpu_us_per_saga: cpu },
    { by: `SQL alone, ${clients} client${clients === 1 ? '' : 's'}`, n, batch, complete },
  );
  return { rate, cpu, complete };
}

await run(async () => {
  const limits = [];
  for (const clients of numbers(args.clients ?? '1,2,4')) limits.push(await limitOf(clients));
  const engine = await ours();
  const most = Math.max(...limits.map(({ rate }) => rate));
  const least = Math.min(...limits.map(({ cpu }) => cpu));
  const complete = engine.complete && limits.every((limit) => limit.complete);
  emit(
    {
      sagas_per_s: engine.rate,
      part_of_limit_ratio: engine.rate / most,
      cpu_us_per_saga: engine.cpu,
      cpu_to_sql_ratio: engine.cpu / least,
      ...engine.stalls,
    },
    { by: 'nestjs-durable-saga, 1,000 in flight', n, complete },
  );
});
