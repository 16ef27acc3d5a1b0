// What a saga costs the server and the process, one at a time and with many in flight. --windows=1,1000
// --n=30000
import { client } from '../lib/database.mjs';
import { args, createDatabase, emit, numbers, run, withApp } from './lib.mjs';
import { costing } from './costing.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 30_000;

async function costsAt(window) {
  const db = await createDatabase();
  const Plain = sagaOfSteps(3);
  const count = Math.ceil(n * Math.min(1, window / 20));
  const warm = Math.min(1_500, count);
  const ran = await withApp({ db, sagas: [Plain] }, async (service) => {
    await closedLoop(service, Plain, { n: warm, window });
    return costing(db, () => closedLoop(service, Plain, { n: count, window }));
  });
  const sagas = warm + count;
  const rows = await written(db, sagas);
  emit(
    { ...ran.costs, ...rows, ...ran.stalls },
    { in_flight: window, n: count, complete: await allThere(db, { sagas }) },
  );
}

/**
 * The counters of the tables over all sagas. Connections report their counts when they end, so this runs once
 * the application is closed.
 */
async function written(db, sagas) {
  const c = await client(db);
  const { rows } = await c.query(
    `SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 AS rows, sum(n_tup_upd)::float8 AS updates,
       sum(n_tup_hot_upd)::float8 AS hot, sum(n_dead_tup)::float8 AS dead,
       sum(pg_indexes_size(relid))::float8 AS index_bytes
     FROM pg_stat_user_tables WHERE schemaname = 'saga'`,
  );
  await c.end();
  const [all] = rows;
  return {
    rows_written_per_saga: all.rows / sagas,
    hot_pct: (100 * all.hot) / all.updates,
    dead_rows_per_saga: all.dead / sagas,
    index_bytes_per_saga: all.index_bytes / sagas,
  };
}

await run(async () => {
  for (const window of numbers(args.windows ?? '1,1000')) await costsAt(window);
});
