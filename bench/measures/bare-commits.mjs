// The four commits that an unloaded saga needs, by one plain client, and beside them in turns the saga itself.
// --n=1000 --blocks=5 --warm=1500
import { randomUUID } from 'node:crypto';
import { client } from '../lib/database.mjs';
import { now, percentile } from '../lib/figures.mjs';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 1_000;
const blocks = args.blocks ?? 5;
const warm = args.warm ?? 1_500;
const Plain = sagaOfSteps(3);

const START = `INSERT INTO saga.instance (id, name, version, status, step, input, epoch, locked_by, due_at, rank_at)
  VALUES ($1, 'bare', 1, 'running', 's1', '{"i":1}', 1, 'bench', now() + interval '30 s', now() + interval '30 s')`;
const changed = (set) => `WITH u AS (
    UPDATE saga.instance SET checkpoints = checkpoints + 1, updated_at = now(), ${set} WHERE id = $1 RETURNING id)
  INSERT INTO saga.step (saga_id, name, status, attempts, result) SELECT id, $2, 'completed', 1, '1' FROM u`;
const CHECKPOINT = changed('step = $2');
const LAST = changed(
  `status = 'completed', step = $2, locked_by = NULL, due_at = NULL, rank_at = NULL, finished_at = now()`,
);

/** One after the other, prepared. The time in the first bytes of the ids has them ascend, as the engine's do. */
async function fourCommits(c) {
  const id = `${Date.now()
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7${randomUUID().slice(15)}`;
  const began = now();
  await c.query({ name: 'start', text: START, values: [id] });
  await c.query({ name: 'checkpoint', text: CHECKPOINT, values: [id, 's1'] });
  await c.query({ name: 'checkpoint', text: CHECKPOINT, values: [id, 's2'] });
  await c.query({ name: 'last', text: LAST, values: [id, 's3'] });
  return now() - began;
}

async function commits(c, count) {
  const times = [];
  while (times.length < count) times.push(await fourCommits(c));
  return times;
}

await run(async () => {
  const db = await createDatabase();
  const times = { bare: [], ours: [] };
  await withApp({ db, sagas: [Plain] }, async (service) => {
    const c = await client(db);
    const ours = async (count) => (await closedLoop(service, Plain, { n: count, window: 1 })).times;
    await commits(c, warm);
    await ours(warm);
    for (let k = 0; k < blocks; k += 1) {
      times.bare.push(...(await commits(c, Math.ceil(n / blocks))));
      times.ours.push(...(await ours(Math.ceil(n / blocks))));
    }
    await c.end();
  });
  const [bare, ours] = [times.bare, times.ours].map((list) => percentile(list, 0.5));
  const sagas = warm + times.ours.length;
  const complete =
    (await allThere(db, { sagas, mixed: true })) &&
    (await allThere(db, { sagas, name: 'bare', mixed: true }));
  emit({ p50_ms: bare }, { by: 'four bare commits, plain client', n, complete });
  emit(
    { p50_ms: ours, over_bare_ms: ours - bare, to_bare_ratio: ours / bare },
    { by: 'nestjs-durable-saga, one in flight', n, complete },
  );
});
