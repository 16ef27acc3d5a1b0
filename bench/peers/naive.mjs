// A hand-written saga as in a typical NestJS/TypeORM post: one transaction per step, SELECT … FOR UPDATE on the
// saga's row, update it, insert a row for the step, commit. In-process: no queue, no worker, no recovery, no
// undo.
// --variant=save: manager.save(entity), as the posts write it (it reads the row again first); lean: update()
// and insert()
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { DataSource, EntitySchema } from 'typeorm';
import { args, copyFinished, main, pkgVersion, tracker, windowed } from './lib.mjs';

const variant = args.variant ?? 'save';
const conc = args.conc ?? 10;
const pool = args.pool ?? conc;

const Saga = new EntitySchema({
  name: 'saga',
  tableName: 'saga',
  columns: {
    id: { type: 'uuid', primary: true, generated: 'uuid' },
    name: { type: String },
    status: { type: String },
    currentStep: { type: 'int', default: 0 },
    input: { type: 'jsonb' },
    createdAt: { type: 'timestamptz', createDate: true },
    updatedAt: { type: 'timestamptz', updateDate: true },
  },
  indices: [{ columns: ['status'] }],
});
const Step = new EntitySchema({
  name: 'saga_step',
  tableName: 'saga_step',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    sagaId: { type: 'uuid' },
    idx: { type: 'int' },
    name: { type: String },
    status: { type: String },
    result: { type: 'jsonb', nullable: true },
    createdAt: { type: 'timestamptz', createDate: true },
  },
  indices: [{ columns: ['sagaId', 'idx'], unique: true }],
});

let dataSource;
const noop = async () => 1;

async function begin(i) {
  const repository = dataSource.getRepository('saga');
  const saga = { name: 'order', status: 'running', currentStep: 0, input: { i } };
  if (variant === 'save') return (await repository.save(saga)).id;
  const id = randomUUID();
  await repository.insert({ id, ...saga });
  return id;
}

async function run(id, i) {
  for (let k = 0; k < 3; k += 1) {
    await dataSource.transaction(async (manager) => {
      const saga = await manager.findOne('saga', { where: { id }, lock: { mode: 'pessimistic_write' } });
      const step = { sagaId: id, idx: k, name: `s${k}`, status: 'done', result: await noop() };
      const change = { currentStep: k + 1, ...(k === 2 && { status: 'completed' }) };
      if (variant === 'save') {
        await manager.save('saga', Object.assign(saga, change));
        await manager.save('saga_step', step);
      } else {
        await manager.update('saga', { id }, change);
        await manager.insert('saga_step', step);
      }
    });
  }
  tracker.done(i);
}

const adapter = {
  engine: 'naive',
  version: `typeorm ${pkgVersion('typeorm')}`,
  variant,
  settings: { pool, window: conc },
  async install() {},
  async start() {
    dataSource = new DataSource({
      type: 'postgres',
      url: adapter.url,
      entities: [Saga, Step],
      synchronize: true,
      extra: { max: pool },
    });
    await dataSource.initialize();
  },
  submit: (from, n) => windowed(from, n, conc, async (i) => run(await begin(i), i)),
  allDone: async (c) =>
    (await c.query(`SELECT 1 FROM saga WHERE status <> 'completed' LIMIT 1`)).rowCount === 0,
  finished: async (c) =>
    (
      await c.query(`SELECT (SELECT count(*)::int FROM saga WHERE status = 'completed') AS sagas,
        (SELECT count(*)::int FROM saga_step) AS steps`)
    ).rows[0],
  startOne: async (i) => {
    const id = await begin(i);
    void run(id, i);
    return id;
  },
  doneQuery: `SELECT 1 FROM saga WHERE id = $1 AND status = 'completed'`,
  stop: () => dataSource.destroy(),
  preload: (c, rows) =>
    copyFinished(
      c,
      {
        parent: 'public.saga',
        where: `status = 'completed'`,
        key: 'id',
        tables: [
          { table: 'public.saga', fk: 'id', set: {} },
          { table: 'public.saga_step', fk: 'sagaId', set: { id: null } },
        ],
      },
      rows,
    ),
};
await main(adapter);
