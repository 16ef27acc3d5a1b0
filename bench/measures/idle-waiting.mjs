// What one worker with nothing to do asks of the server while many sagas wait: for a signal, for a signal until a time, for
// the time of a delay, for a decision; and with schedules.
// --waiting=1000000 --schedules=10 --secs=60 --settle=12
import { Approval, Step, WaitFor } from '../../libs/saga/dist/index.js';
import { admin, client } from '../lib/database.mjs';
import { delta, snapshot } from '../lib/counters.mjs';
import { now, sleep } from '../lib/figures.mjs';
import { multiply, vacuumSagas } from '../lib/multiply.mjs';
import { args, createApp, createDatabase, emit, run } from './lib.mjs';
import { sagaWith, sagaOfSteps } from './sagas.mjs';

const waiting = args.waiting ?? 1_000_000;
const schedules = args.schedules ?? 10;
/** Longer than a pool keeps unused connections. */
const settle = args.settle ?? 12;

/** Each with an `sla`, which puts it into the index of what may become overdue. */
const KINDS = [
  ['signal', WaitFor({ signal: 'reply' })],
  ['timed', WaitFor({ signal: 'reply', timeout: '30d' })],
  ['delayed', Step({ delay: '30d' })],
  ['decision', Approval({ timeout: '30d' })],
].map(([name, decorator]) => sagaWith({ name, sla: '20d' }, { hold: decorator }));

/** Times that do not come while it is measured. */
const HOUR = (new Date().getUTCHours() + 12) % 24;
const SCHEDULED = Array.from({ length: schedules }, (_, n) =>
  sagaWith({ name: `nightly-${n}`, schedule: { cron: `${n % 60} ${HOUR} * * *` } }, { act: Step() }),
);

/** One of each kind is started, and waits; the others are its copies. */
async function fill(db, service) {
  for (const kind of KINDS) {
    const { id } = await service.start(kind, undefined);
    while ((await service.get(id)).waitingFor === undefined) await sleep(20);
    await multiply(db, id, Math.floor(waiting / KINDS.length) - 1);
  }
  await copyTasks(db);
  await vacuumSagas(db);
}

async function copyTasks(db) {
  const c = await client(db);
  await c.query(`INSERT INTO saga.task (saga_id, step, saga, since)
    SELECT id, 'hold', name, created_at FROM saga.instance WHERE name = 'decision' ON CONFLICT DO NOTHING`);
  await c.query('ANALYZE saga.task');
  await c.end();
}

/** The statements of the time, the most frequent first: `--show` prints them. */
async function frequent(db) {
  return admin(
    `SELECT calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 160) AS query FROM pg_stat_statements
     WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1) ORDER BY calls DESC LIMIT 15`,
    [db],
  );
}

await run(async () => {
  const db = await createDatabase();
  const { service, schedules, close } = await createApp({
    db,
    sagas: [sagaOfSteps(3), ...KINDS, ...SCHEDULED],
  });
  await fill(db, service);
  await sleep(1_000 * settle);
  const listed = await schedules.list();
  if (args.show) await admin('SELECT pg_stat_statements_reset()');
  const [before, began] = [await snapshot(db), now()];
  await sleep(1_000 * (args.secs ?? 60));
  const secs = (now() - began) / 1_000;
  const used = delta(before, await snapshot(db));
  if (args.show) console.error(await frequent(db));
  const c = await client(db);
  const [{ waits }] = (
    await c.query(`SELECT count(*)::int AS waits FROM saga.instance WHERE status = 'running'`)
  ).rows;
  await c.end();
  await close();
  const complete = waits === KINDS.length * Math.floor(waiting / KINDS.length) && listed.length === schedules;
  emit({ stmts_per_s: used.stmts / secs }, { waiting, schedules, secs: Math.round(secs), complete });
});
