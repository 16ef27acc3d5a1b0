// Shared by all adapters: databases, counters, the loops that measure, one JSON line per figure.
// node <adapter>.mjs <metric> [--flag=value …], with PGURL set. Metrics: throughput latency idle memory grow trace.
import { appendFileSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import pg from 'pg';

export const metric = process.argv[2] ?? 'throughput';
export const args = Object.fromEntries(
  process.argv.slice(3).map((arg) => {
    const [name, value] = arg.replace(/^--/, '').split('=');
    return [name, value === undefined ? true : isNaN(Number(value)) ? value : Number(value)];
  }),
);

const BASE = process.env.PGURL;
if (!BASE) {
  console.error('Set PGURL, e.g. postgres://postgres:pw@127.0.0.1:5499/postgres');
  process.exit(2);
}

const immediate = () => new Promise((resolve) => setImmediate(resolve));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => performance.now();
const round = (x, digits = 2) => Math.round(x * 10 ** digits) / 10 ** digits;
const percentile = (xs, p) =>
  xs.slice().sort((a, b) => a - b)[Math.min(xs.length - 1, Math.floor(xs.length * p))];

/** The installed version of one of the benchmark's own dependencies. */
export const pkgVersion = (name) =>
  JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url))).version;

// --- databases -------------------------------------------------------------------------------------------------

function dbUrl(db) {
  const url = new URL(BASE);
  url.pathname = `/${db}`;
  return url.toString();
}

async function client(db) {
  const c = new pg.Client({ connectionString: dbUrl(db) });
  await c.connect();
  return c;
}

/** A statement on the server's own database, so that it is not counted. */
async function admin(sql, params) {
  const c = new pg.Client({ connectionString: BASE });
  await c.connect();
  try {
    return (await c.query(sql, params)).rows;
  } finally {
    await c.end();
  }
}

/** The server's counters for one database. `xid` counts transactions that wrote, `wal` bytes. */
async function snapshot(db) {
  const [row] = await admin(
    `WITH s AS (
       SELECT calls, query FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1))
     SELECT (SELECT xact_rollback FROM pg_stat_database WHERE datname = $1)::bigint AS rollbacks,
       pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal,
       (SELECT coalesce(sum(calls), 0) FROM s)::bigint AS stmts,
       (SELECT coalesce(sum(calls), 0) FROM s
         WHERE query ~* '^\\s*(begin|start transaction|commit|rollback)')::bigint AS txstmts,
       (SELECT coalesce(sum(fsyncs), 0) FROM pg_stat_io
         WHERE object = 'wal' AND context = 'normal')::bigint AS fsyncs,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid`,
    [db],
  );
  return Object.fromEntries(Object.entries(row).map(([key, value]) => [key, Number(value)]));
}

const delta = (a, b) => Object.fromEntries(Object.keys(a).map((key) => [key, b[key] - a[key]]));

function emit(ad, name, value, extra = {}) {
  const line = JSON.stringify({
    engine: ad.engine,
    version: ad.version,
    variant: ad.variant,
    metric: name,
    value,
    settings: ad.settings,
    node: process.versions.node,
    round: Number(process.env.ROUND ?? 0),
    at: new Date().toISOString(),
    ...extra,
  });
  console.log(line);
  if (process.env.RESULTS) appendFileSync(process.env.RESULTS, `${line}\n`);
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

/** Runs fn(i) for n numbers from `from` on, at most `window` of them at once. */
export async function windowed(from, n, window, fn) {
  let next = from;
  const lane = async () => {
    while (next < from + n) await fn(next++);
  };
  await Promise.all(Array.from({ length: Math.min(window, n) }, lane));
}

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
  const ran = await load(ad, args.n ?? 2000);
  const used = delta(before, await snapshot(ad.db));
  const complete = ran.complete && (await allThere(ad));
  await ad.stop();
  emit(ad, 'throughput', round(ran.n / ran.secs, 1), { complete, ...costs(ran, used) });
}

function costs(ran, used) {
  return {
    n: ran.n,
    secs: round(ran.secs, 3),
    write_tx_per_saga: round(used.xid / ran.n, 3),
    stmts_per_saga: round(used.stmts / ran.n, 3),
    begin_commit_stmts_per_saga: round(used.txstmts / ran.n, 3),
    wal_bytes_per_saga: Math.round(used.wal / ran.n),
    wal_fsyncs_per_saga: round(used.fsyncs / ran.n, 3),
    rollbacks: used.rollbacks,
    node_cpu_s: round(ran.cpu),
  };
}

/** One saga at a time, from the call that starts it until another connection sees it finished. */
async function measureLatency(ad) {
  const c = await client(ad.db);
  // Prepared: what looks on must take as little as can be from what it looks at.
  const isDone = async (id) =>
    (await c.query({ name: 'done', text: ad.doneQuery, values: [id] })).rowCount === 1;
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
    write_tx_per_saga: round(used.xid / times.length, 3),
    stmts_per_saga: round(used.stmts / times.length),
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
  emit(ad, 'idle_stmts_per_s', round(used.stmts / secs), {
    complete,
    secs: round(secs),
    begin_commit_per_s: round(used.txstmts / secs),
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
  await admin('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  await admin(`DROP DATABASE IF EXISTS ${ad.db} WITH (FORCE)`);
  await admin(`CREATE DATABASE ${ad.db}`);
  await ad.install();
  await ad.start();
  await METRICS[metric](ad);
  // Pools may complain when their database goes; the figures are out by now.
  process.on('uncaughtException', () => {});
  process.on('unhandledRejection', () => {});
  if (!args.keep) await admin(`DROP DATABASE IF EXISTS ${ad.db} WITH (FORCE)`);
  process.exit(0);
}

/**
 * Copies finished instances by INSERT … SELECT until `rows` exist.
 * @param tables [{ table, fk, set: { column: expression } }], the parent first; null leaves a column to its
 *   default. In expressions m.new_id is the new key, t the row that is copied.
 */
export async function copyFinished(c, { parent, where, key, keyType = 'uuid', tables }, rows) {
  const { rows: found } = await c.query(`SELECT count(*)::int AS n FROM ${parent} t WHERE ${where}`);
  const copies = Math.ceil(rows / found[0].n);
  await c.query(`CREATE TEMP TABLE m AS
    SELECT t.${key} AS old_id, gen_random_uuid()::${keyType} AS new_id
    FROM ${parent} t, generate_series(1, ${copies}) g WHERE ${where} LIMIT ${rows}`);
  await c.query('CREATE INDEX ON m (old_id)');
  await c.query('ANALYZE m');
  for (const { table, fk, set } of tables) {
    const [schema, name] = table.split('.');
    const { rows: columns } = await c.query(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = $1 AND table_name = $2 AND is_generated = 'NEVER' AND is_identity = 'NO'
       ORDER BY ordinal_position`,
      [schema, name],
    );
    const used = columns.map((column) => column.name).filter((column) => set[column] !== null);
    const values = used.map((column) => set[column] ?? (column === fk ? 'm.new_id' : `t."${column}"`));
    await c.query(`INSERT INTO ${table} (${used.map((column) => `"${column}"`).join(', ')})
      SELECT ${values.join(', ')} FROM ${table} t JOIN m ON t."${fk}" = m.old_id`);
  }
  return rows;
}
