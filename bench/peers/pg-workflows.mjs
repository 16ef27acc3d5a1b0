// pg-workflows (over pg-boss): a workflow of three no-op steps. Each of its workers polls twice a second.
import pg from 'pg';
import { args, main, pkgVersion, tracker, windowed } from './lib.mjs';

const workers = args.workers ?? 40;
process.env.WORKFLOW_RUN_WORKERS = String(workers);
const pool = args.pool ?? 20;
const window = args.window ?? 20;
const { WorkflowEngine, workflow } = await import('pg-workflows');

const noop = async () => 1;
// It reads the handler's source: its argument has to be called `step`.
const saga = workflow('saga', async ({ step, input }) => {
  await step.run('s1', noop);
  await step.run('s2', noop);
  await step.run('s3', noop);
  queueMicrotask(() => tracker.done(input.i));
  return { i: input.i };
});

let engine;
let connections;
const adapter = {
  engine: 'pg-workflows',
  version: pkgVersion('pg-workflows'),
  variant: '',
  settings: { pool, workers, window },
  async install() {},
  async start() {
    connections = new pg.Pool({ connectionString: adapter.url, max: pool });
    const logger = { log() {}, error: console.error };
    engine = new WorkflowEngine({ pool: connections, workflows: [saga], logger });
    await engine.start();
  },
  submit: (from, n) =>
    windowed(from, n, window, (i) => engine.startWorkflow({ workflowId: 'saga', input: { i } })),
  allDone: async (c) =>
    (await c.query(`SELECT 1 FROM workflow_runs WHERE status IN ('pending', 'running', 'paused') LIMIT 1`))
      .rowCount === 0,
  // The steps' results are in the run's own row.
  finished: async (c) =>
    (
      await c.query(
        `SELECT count(*)::int AS sagas, 3 * count(*)::int AS steps FROM workflow_runs WHERE status = 'completed'`,
      )
    ).rows[0],
  startOne: async (i) => (await engine.startWorkflow({ workflowId: 'saga', input: { i } })).id,
  doneQuery: `SELECT 1 FROM workflow_runs WHERE id = $1 AND status = 'completed'`,
  async stop() {
    await engine.stop();
    await connections.end();
  },
  preload() {
    throw new Error('not measured');
  },
};
await main(adapter);
