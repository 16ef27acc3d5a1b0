// graphile-worker: a chain of three jobs a saga. --variant=batched (default, its local queue and batched completion) | default
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { args, inBatches, main, pkgVersion, tracker } from './lib.mjs';

const variant = args.variant ?? 'batched';
const concurrentJobs = args.conc ?? 20;
const maxPoolSize = args.pool ?? concurrentJobs + 2;
const batching =
  variant === 'batched'
    ? { localQueue: { size: args.lq ?? 200 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
    : {};
const OPEN = 'SELECT 1 FROM graphile_worker._private_jobs LIMIT 1';
const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message);
});

let runner;
let utils;
const then =
  (name) =>
  async (payload, { addJob }) => {
    await addJob(name, payload);
  };
const adapter = {
  engine: 'graphile-worker',
  version: pkgVersion('graphile-worker'),
  variant,
  settings: { pool: maxPoolSize, conc: concurrentJobs },
  async install() {},
  async start() {
    const connectionString = adapter.url;
    utils = await makeWorkerUtils({ connectionString, logger });
    await utils.migrate();
    runner = await run({
      noHandleSignals: true,
      crontab: '',
      logger,
      taskList: { s1: then('s2'), s2: then('s3'), s3: async ({ i }) => tracker.done(i) },
      preset: { worker: { connectionString, concurrentJobs, maxPoolSize, logger, ...batching } },
    });
  },
  submit: (from, n) =>
    inBatches(from, n, (numbers) =>
      utils.addJobs(numbers.map((i) => ({ identifier: 's1', payload: { i } }))),
    ),
  allDone: async (c) => (await c.query(OPEN)).rowCount === 0,
  // Jobs that are done are deleted.
  finished: async (c) => {
    const left = (await c.query('SELECT count(*)::int AS n FROM graphile_worker._private_jobs')).rows[0].n;
    return { sagas: tracker.count - left, steps: 3 * (tracker.count - left) };
  },
  startOne: async (i) => (await utils.addJob('s1', { i })).id,
  doneQuery: `SELECT 1 WHERE $1::text IS NOT NULL AND NOT EXISTS (${OPEN})`,
  async stop() {
    await runner.stop();
    await utils.release();
  },
  preload() {
    throw new Error('not measured: jobs that are done are deleted');
  },
};
await main(adapter);
