// openworkflow: a workflow of three no-op steps.
import { OpenWorkflow } from 'openworkflow';
import { BackendPostgres } from 'openworkflow/postgres';
import postgres from 'postgres';
import { args, copyFinished, main, pkgVersion, tracker, windowed } from './lib.mjs';

const concurrency = args.conc ?? 20;
const pool = args.pool ?? 20;
const window = args.window ?? 20;

const step = async () => 1;
let sql;
let worker;
let workflow;
const adapter = {
  engine: 'openworkflow',
  version: pkgVersion('openworkflow'),
  variant: '',
  settings: { pool, conc: concurrency, window },
  async install() {
    const backend = await BackendPostgres.connect(adapter.url);
    await backend.stop();
  },
  async start() {
    const transform = { column: { from: postgres.toCamel } };
    sql = postgres(adapter.url, { max: pool, transform, onnotice() {} });
    const backend = BackendPostgres.fromPool(sql, { namespaceId: 'default' });
    const engine = new OpenWorkflow({ backend });
    workflow = engine.defineWorkflow({ name: 'saga' }, async ({ input, step: steps }) => {
      for (const name of ['s1', 's2', 's3']) await steps.run({ name }, step);
      queueMicrotask(() => tracker.done(input.i));
      return input.i;
    });
    worker = engine.newWorker({ concurrency });
    await worker.start();
  },
  submit: (from, n) => windowed(from, n, window, (i) => workflow.run({ i })),
  allDone: async (c) =>
    (
      await c.query(
        `SELECT 1 FROM openworkflow.workflow_runs WHERE status IN ('pending', 'running', 'sleeping') LIMIT 1`,
      )
    ).rowCount === 0,
  finished: async (c) =>
    (
      await c.query(`SELECT
        (SELECT count(*)::int FROM openworkflow.workflow_runs WHERE status = 'completed') AS sagas,
        (SELECT count(*)::int FROM openworkflow.step_attempts) AS steps`)
    ).rows[0],
  startOne: async (i) => (await workflow.run({ i })).workflowRun.id,
  doneQuery: `SELECT 1 FROM openworkflow.workflow_runs WHERE namespace_id = 'default' AND id = $1 AND status = 'completed'`,
  async stop() {
    await worker.stop();
    await sql.end();
  },
  preload: (c, rows) =>
    copyFinished(
      c,
      {
        parent: 'openworkflow.workflow_runs',
        where: `status = 'completed'`,
        key: 'id',
        keyType: 'text',
        tables: [
          { table: 'openworkflow.workflow_runs', fk: 'id', set: {} },
          {
            table: 'openworkflow.step_attempts',
            fk: 'workflow_run_id',
            set: { id: 'gen_random_uuid()::text' },
          },
        ],
      },
      rows,
    ),
};
await main(adapter);
