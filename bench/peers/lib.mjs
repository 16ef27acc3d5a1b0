// Shared by all adapters: the loops that measure, one JSON line per figure.
// node <adapter>.mjs <metric> [--flag=value …], with PGURL set. Metrics: throughput latency idle memory grow trace.
import { readFileSync } from 'node:fs';
import { delta, costs, snapshot } from '../lib/counters.mjs';
import { admin, client, dbUrl, dropDatabase, makeDatabase } from '../lib/database.mjs';
import { now, percentile, round, sleep, writeLine } from '../lib/figures.mjs';
import { flagsOf } from '../lib/flags.mjs';
import { serverCpu } from '../lib/server-cpu.mjs';
import { watchStalls } from '../lib/stalls.mjs';

export { copyFinished } from '../lib/copy-finished.mjs';
export { inBatches, windowed } from '../lib/windowed.mjs';

export const metric = process.argv[2] ?? 'throughput';
export const args = flagsOf(process.argv.slice(3));

const immediate = () => new Promise((resolve) => setImmediate(resolve));

/** The installed version of one of the benchmark's own dependencies. */
export const pkgVersion = (name) =>
  JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url))).version;

function emit(ad, name, value, extra = {}) {
  const { engine, version, variant, settings } = ad;
  const installed = args.installed && { installed: true };
  writeLine({ engine, version, variant, metric: name, value, settings, ...installed, ...extra });
}

/** Ends the process with the reason why an engine is not measured; its row says so. */
export function skip(engine, variant, reason) {
  console.error(`${engine} is skipped: ${reason}`);
  writeLine({ engine, variant, metric: 'skipped', reason });
  process.exit(0);
}

// --- load ------------------------------------------------------------------------------------------------------

/** Adapters tell here that the last step of saga i has run; the same for all, and cheap. */
export const tracker = {
  count: 0,
  waiters: new Map(),
  done(i) {
    this.count += 1;
    const waiter = this.waiters.get(i);
    if (waiter) {
      this.waiters.delete(i);
      waiter();
    }
  },
  wait(i) {
    return new Promise((resolve) => this.waiters.set(i, resolve));
  },
};

let sequence = 0;

/** Submits n sagas and waits until the last of them is finished in the database. */
async function load(ad, n) {
  const from = sequence;
  sequence += n;
  const target = tracker.count + n;
  const deadline = now() + (args.max ?? 60) * 1000;
  const cpu = process.cpuUsage();
  const began = now();
  const submitted = ad.submit(from, n);
  let refused = false;
  submitted.catch(() => (refused = true));
  while (tracker.count < target && !refused && now() < deadline) await sleep(2);
  if (refused) await submitted;
  const inTime = tracker.count >= target;
  if (inTime) await submitted;
  const c = await client(ad.db);
  let durable = false;
  while (inTime && !(durable = await ad.allDone(c)) && now() < deadline) await sleep(2);
  const secs = (now() - began) / 1000;
  await c.end();
  const { user, system } = process.cpuUsage(cpu);
  return { complete: durable, secs, n: n - Math.max(0, target - tracker.count), cpu: (user + system) / 1e6 };
}

/** Everything that was submitted is finished in the database, with the results of its three steps. */
async function allThere(ad) {
  const c = await client(ad.db);
  try {
    const { sagas, steps } = await ad.finished(c);
    if (sagas === sequence && steps === 3 * sequence) return true;
    console.error(`${sequence} sagas were submitted; ${sagas} are finished, with ${steps} steps`);
    return false;
  } finally {
    await c.end();
  }
}

async function measureThroughput(ad) {
  await load(ad, args.warm ?? 300);
  await admin('CHECKPOINT');
  await sleep(args.settle ?? 500);
  const before = await snapshot(ad.db);
  const endWatch = await watchStalls();
  const serverBefore = await cpuOfServer(ad);
  const ran = await load(ad, args.n ?? 2000);
  const server = (await cpuOfServer(ad)) - serverBefore;
  const stalls = await endWatch();
  const used = delta(before, await snapshot(ad.db));
  // The same again: Node has compiled by then what runs often.
  const again = args.installed ? await load(ad, args.n ?? 2000) : undefined;
  const complete = ran.complete && again?.complete !== false && (await allThere(ad));
  await ad.stop();
  const cpu = {
    node_cpu_us_per_saga: (1e6 * ran.cpu) / ran.n,
    server_cpu_us_per_saga: (1e6 * server) / ran.n,
  };
  emit(ad, 'throughput', round(ran.n / ran.secs, 1), {
    complete,
    ...ofPostgres(ad, costs(ran, used)),
    ...rounded({ ...cpu, ...stalls }),
  });
  if (again) emit(ad, 'throughput_in_service', round(again.n / again.secs, 1), { complete });
}

/** The processors' time of the server where the engine's data is. */
const cpuOfServer = (ad) => (ad.serverCpu ? ad.serverCpu() : serverCpu());

/** What PostgreSQL counts says nothing about an engine with a store of its own. */
const ofPostgres = (ad, counted) => (ad.ownStore ? {} : counted);

const rounded = (figures) =>
  Object.fromEntries(
    Object.entries(figures)
      .filter(([, value]) => Number.isFinite(value))
      .map(([name, value]) => [name, round(value)]),
  );

/** One saga at a time, from the call that starts it until another connection sees it finished. */
async function measureLatency(ad) {
  const c = await client(ad.db);
  // Prepared: what looks on must take as little as can be from what it looks at.
  const isDone =
    ad.isDone ??
    (async (id) => (await c.query({ name: 'done', text: ad.doneQuery, values: [id] })).rowCount === 1);
  const one = async () => {
    const i = sequence++;
    const last = tracker.wait(i);
    const began = now();
    const id = await ad.startOne(i);
    await last;
    const handler = now() - began;
    while (!(await isDone(id))) await immediate();
    return { seen: now() - began, handler };
  };
  // Node compiles what runs often; a worker in service is warm.
  for (let k = 0; k < (args.warm ?? 300); k += 1) await one();
  const n = args.n ?? 300;
  const deadline = now() + (args.max ?? 60) * 1000;
  const before = await snapshot(ad.db);
  const times = [];
  while (times.length < n && now() < deadline) times.push(await one());
  const used = delta(before, await snapshot(ad.db));
  await c.end();
  const complete = times.length === n && (await allThere(ad));
  await ad.stop();
  const seen = times.map((t) => t.seen);
  emit(ad, 'latency_p50_ms', round(percentile(seen, 0.5)), {
    complete,
    n: times.length,
    p99: round(percentile(seen, 0.99)),
    min: round(Math.min(...seen)),
    max: round(Math.max(...seen)),
    last_handler_p50: round(
      percentile(
        times.map((t) => t.handler),
        0.5,
      ),
    ),
    ...ofPostgres(ad, {
      write_tx_per_saga: round(used.xid / times.length, 3),
      stmts_per_saga: round(used.stmts / times.length),
    }),
  });
}

async function measureIdle(ad) {
  const { complete } = await load(ad, 20);
  await sleep(args.settle ?? 3000);
  const before = await snapshot(ad.db);
  const cpu = process.cpuUsage();
  const began = now();
  await sleep((args.secs ?? 10) * 1000);
  const secs = (now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const used = delta(before, await snapshot(ad.db));
  await ad.stop();
  emit(ad, 'idle_stmts_per_s', ad.ownStore ? undefined : round(used.stmts / secs), {
    complete,
    secs: round(secs),
    ...ofPostgres(ad, { begin_commit_per_s: round(used.txstmts / secs) }),
    node_cpu_pct: round((user + system) / 1e4 / secs),
  });
}

/** Many sagas through one process in slices; what is left on the heap after a collection. Needs --expose-gc. */
async function measureMemory(ad) {
  if (!globalThis.gc) throw new Error('metric memory needs node --expose-gc');
  const slice = args.slice ?? 20_000;
  for (let total = slice; total <= (args.n ?? 200_000); total += slice) {
    const ran = await load(ad, slice);
    await sleep(args.settle ?? 500);
    for (let k = 0; k < 3; k += 1) {
      globalThis.gc();
      await sleep(20);
    }
    const { rss, heapUsed, external } = process.memoryUsage();
    const [mb, complete] = [2 ** 20, ran.complete];
    emit(ad, 'memory_slice', round(ran.n / ran.secs, 1), {
      complete,
      n: ran.n,
      total,
      secs: round(ran.secs, 3),
      rss_mb: round(rss / mb, 1),
      heap_mb: round(heapUsed / mb, 2),
      external_mb: round(external / mb, 2),
    });
    if (!complete) break;
  }
  const complete = await allThere(ad);
  await ad.stop();
  if (!complete) throw new Error('sagas are missing');
}

/** Throughput again with many finished instances already there, made by copying. */
async function measureGrown(ad) {
  await load(ad, args.warm ?? 300);
  const c = await client(ad.db);
  const preloaded = await ad.preload(c, args.rows ?? 200_000);
  await c.query('ANALYZE');
  if (args.vacuum) await c.query('VACUUM ANALYZE');
  await c.end();
  const reps = args.reps ?? 3;
  for (let rep = 1; rep <= reps; rep += 1) {
    await admin('CHECKPOINT');
    await sleep(args.settle ?? 500);
    const before = await snapshot(ad.db);
    const ran = await load(ad, args.n ?? 2000);
    const used = delta(before, await snapshot(ad.db));
    const { complete } = ran;
    emit(ad, 'throughput_grown', round(ran.n / ran.secs, 1), {
      complete,
      preloaded,
      rep,
      ...costs(ran, used),
    });
  }
  await ad.stop();
}

/** For reading, not for the results: which statements n sagas cost, and whether updates were HOT. */
async function trace(ad) {
  await load(ad, args.warm ?? 300);
  await sleep(1500);
  await admin('SELECT pg_stat_statements_reset()');
  const n = args.n ?? 2000;
  const ran = await load(ad, n);
  console.log(
    `${round(n / ran.secs, 1)} sagas/s, ${round((1e6 * ran.cpu) / n, 1)} us of this process's time a saga`,
  );
  const statements = await admin(
    `SELECT calls, rows, total_exec_time AS exec, total_plan_time AS plan, wal_bytes AS wal,
       regexp_replace(query, '\\s+', ' ', 'g') AS query
     FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)
     ORDER BY total_exec_time DESC LIMIT 25`,
    [ad.db],
  );
  console.table(
    statements.map((s) => ({
      'calls/saga': round(s.calls / n, 3),
      'rows/call': round(s.rows / s.calls, 1),
      'exec ms/call': round(s.exec / s.calls, 3),
      'exec us/saga': round((1000 * s.exec) / n, 1),
      'plan ms/call': round(s.plan / s.calls, 3),
      'wal B/saga': round(s.wal / n, 0),
      statement: s.query.slice(0, args.width ?? 60),
    })),
  );
  const c = await client(ad.db);
  await sleep(1200); // the server's counters come a second late
  const { rows } = await c.query(
    `SELECT schemaname || '.' || relname AS "table", n_tup_ins::int AS inserted, n_tup_upd::int AS updated,
       round(100.0 * n_tup_hot_upd / nullif(n_tup_upd, 0), 1)::float8 AS "HOT %",
       round(pg_total_relation_size(relid) / 1048576.0, 1)::float8 AS "MB with indexes"
     FROM pg_stat_user_tables WHERE n_tup_ins + n_tup_upd > 0 ORDER BY 1`,
  );
  console.table(rows);
  await c.end();
  await ad.stop();
}

const METRICS = {
  throughput: measureThroughput,
  latency: measureLatency,
  idle: measureIdle,
  memory: measureMemory,
  grow: measureGrown,
  trace,
};

export async function main(ad) {
  ad.db = `bench_${ad.engine.replace(/\W/g, '_')}_${process.pid}`;
  ad.url = dbUrl(ad.db);
  await makeDatabase(ad.db);
  await ad.install();
  await ad.start();
  await METRICS[metric](ad);
  // Pools may complain when their database goes; the figures are out by now.
  process.on('uncaughtException', () => {});
  process.on('unhandledRejection', () => {});
  if (!args.keep) await dropDatabase(ad.db);
  process.exit(0);
}
