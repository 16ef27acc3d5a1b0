// pg-boss: a chain of three jobs a saga, one queue a step, with LISTEN/NOTIFY. --variant=
// batch (default)  handlers over whole batches, which move on by one insert(): its best, with no state of a
// single saga
//   perjob           each job sends the next
import { PgBoss } from 'pg-boss';
import { args, inBatches, main, pkgVersion, tracker } from './lib.mjs';

const variant = args.variant ?? 'batch';
const batchSize = args.batch ?? (variant === 'batch' ? 100 : 50);
const localConcurrency = args.lc ?? (variant === 'batch' ? 2 : 4);
const pool = args.pool ?? 20;
const pollingIntervalSeconds = args.poll ?? 0.5;
const QUEUES = ['s1', 's2', 's3'];
const OPEN = `SELECT 1 FROM pgboss.job WHERE name IN ('s1', 's2', 's3') AND state < 'completed' LIMIT 1`;

let boss;

async function moveOn(queue, jobs) {
  if (variant === 'batch')
    await boss.insert(
      queue,
      jobs.map(({ data }) => ({ data })),
    );
  else await Promise.all(jobs.map(({ data }) => boss.send(queue, data)));
}

const adapter = {
  engine: 'pg-boss',
  version: pkgVersion('pg-boss'),
  variant,
  settings: { pool, batchSize, localConcurrency, notify: true },
  async install() {},
  async start() {
    boss = new PgBoss({ connectionString: adapter.url, max: pool, useListenNotify: true });
    boss.on('error', (error) => console.error(error.message));
    await boss.start();
    for (const queue of QUEUES) await boss.createQueue(queue, { notify: true });
    const options = { batchSize, localConcurrency, pollingIntervalSeconds, burstWhenBatchFull: true };
    for (const [n, queue] of QUEUES.entries()) {
      await boss.work(queue, options, async (jobs) => {
        if (n < 2) await moveOn(QUEUES[n + 1], jobs);
        else for (const { data } of jobs) tracker.done(data.i);
        return { ok: 1 };
      });
    }
  },
  submit: (from, n) =>
    inBatches(from, n, (numbers) =>
      boss.insert(
        's1',
        numbers.map((i) => ({ data: { i } })),
      ),
    ),
  allDone: async (c) => (await c.query(OPEN)).rowCount === 0,
  finished: async (c) =>
    (
      await c.query(`SELECT count(*) FILTER (WHERE name = 's3')::int AS sagas, count(*)::int AS steps
        FROM pgboss.job WHERE name IN ('s1', 's2', 's3') AND state = 'completed'`)
    ).rows[0],
  startOne: (i) => boss.send('s1', { i }),
  // Jobs of a chain are independent of each other. One saga runs at a time.
  doneQuery: `SELECT 1 WHERE $1::text IS NOT NULL AND NOT EXISTS (${OPEN})`,
  stop: () => boss.stop({ graceful: true, close: true, timeout: 5_000 }),
  preload() {
    throw new Error('not measured');
  },
};
await main(adapter);
