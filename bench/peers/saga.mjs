// nestjs-durable-saga as an application uses it: a Nest application context, TypeOrmModule, SagaModule, and a saga
// of three no-op steps. The library is the workspace's build, with its Nest and TypeORM, or that of the project
// where this file was copied to.
// --defaults: SagaModule.forRoot() and TypeOrmModule without options. Otherwise:
// --pool connections, --conc sagas advanced at once, --window starts in flight,
// --await=outcome (default): a start is in flight until its saga is finished; start: until it is stored
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule } from 'nestjs-durable-saga';
import { BenchApp, version } from './bench-saga.mjs';
import { args, copyFinished, main } from './lib.mjs';

const pool = args.pool ?? 10;
const conc = args.conc ?? 1000;
const window = args.window ?? 1000;
const awaited = args.await ?? 'outcome';

const app = new BenchApp();
const adapter = {
  engine: 'saga',
  version,
  variant: awaited,
  settings: args.defaults ? { window } : { pool, conc, window },
  async install() {},
  async start() {
    await app.start(
      TypeOrmModule.forRoot({
        type: 'postgres',
        url: adapter.url,
        ...(!args.defaults && { extra: { max: pool } }),
      }),
      args.defaults ? SagaModule.forRoot() : SagaModule.forRoot({ worker: { concurrency: conc } }),
    );
  },
  submit: (from, n) => app.submit(from, n, window, awaited === 'outcome'),
  allDone: async (c) =>
    (await c.query('SELECT 1 FROM saga.instance WHERE rank_at IS NOT NULL LIMIT 1')).rowCount === 0,
  finished: async (c) =>
    (
      await c.query(`SELECT (SELECT count(*)::int FROM saga.instance WHERE status = 'completed') AS sagas,
        (SELECT count(*)::int FROM saga.step WHERE status = 'completed') AS steps`)
    ).rows[0],
  startOne: (i) => app.startOne(i),
  doneQuery: `SELECT 1 FROM saga.instance WHERE id = $1 AND status = 'completed'`,
  stop: () => app.close(),
  preload: (c, rows) =>
    copyFinished(
      c,
      {
        parent: 'saga.instance',
        where: `status = 'completed'`,
        key: 'id',
        tables: [
          { table: 'saga.instance', fk: 'id', set: {} },
          { table: 'saga.step', fk: 'saga_id', set: {} },
        ],
      },
      rows,
    ),
};
await main(adapter);
