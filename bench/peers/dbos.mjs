// DBOS Transact: a workflow of three no-op steps. --variant=direct (default) | queue
import { DBOS } from '@dbos-inc/dbos-sdk';
import { args, copyFinished, main, pkgVersion, tracker, windowed } from './lib.mjs';

const variant = args.variant ?? 'direct';
const queue = variant === 'queue';
const pool = args.pool ?? 10;
const window = args.conc ?? 20;
const minPollingIntervalMs = args.poll ?? 100;

const step = async () => 1;
const saga = DBOS.registerWorkflow(
  async (i) => {
    await DBOS.runStep(step, { name: 's1' });
    await DBOS.runStep(step, { name: 's2' });
    await DBOS.runStep(step, { name: 's3' });
    queueMicrotask(() => tracker.done(i));
    return i;
  },
  { name: 'saga' },
);

const report = (message) => console.error(String(message).slice(0, 300));
const logger = { info() {}, debug() {}, warn: report, error: report };

const adapter = {
  engine: 'dbos',
  version: pkgVersion('@dbos-inc/dbos-sdk'),
  variant,
  settings: { pool, window, ...(queue && { minPollingIntervalMs }) },
  async install() {},
  async start() {
    DBOS.setConfig({
      name: 'peer',
      systemDatabaseUrl: adapter.url,
      systemDatabasePoolSize: pool,
      logger,
      useListenNotify: true,
    });
    await DBOS.launch();
    if (queue) await DBOS.registerQueue('q', { workerConcurrency: window, minPollingIntervalMs });
  },
  submit: (from, n) =>
    windowed(from, n, window, async (i) => {
      const handle = await DBOS.startWorkflow(saga, queue ? { queueName: 'q' } : {})(i);
      if (!queue) await handle.getResult();
    }),
  allDone: async (c) =>
    (await c.query(`SELECT 1 FROM dbos.workflow_status WHERE status IN ('PENDING', 'ENQUEUED') LIMIT 1`))
      .rowCount === 0,
  finished: async (c) =>
    (
      await c.query(`SELECT
        (SELECT count(*)::int FROM dbos.workflow_status WHERE status = 'SUCCESS') AS sagas,
        (SELECT count(*)::int FROM dbos.operation_outputs) AS steps`)
    ).rows[0],
  startOne: async (i) => (await DBOS.startWorkflow(saga, queue ? { queueName: 'q' } : {})(i)).workflowID,
  doneQuery: `SELECT 1 FROM dbos.workflow_status WHERE workflow_uuid = $1 AND status = 'SUCCESS'`,
  stop: () => DBOS.shutdown(),
  preload: (c, rows) =>
    copyFinished(
      c,
      {
        parent: 'dbos.workflow_status',
        where: `status = 'SUCCESS'`,
        key: 'workflow_uuid',
        keyType: 'text',
        tables: ['workflow_status', 'workflow_input', 'workflow_output', 'operation_outputs'].map(
          (table) => ({
            table: `dbos.${table}`,
            fk: 'workflow_uuid',
            set: {},
          }),
        ),
      },
      rows,
    ),
};
await main(adapter);
