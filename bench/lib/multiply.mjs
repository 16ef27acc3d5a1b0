// Fills tables with copies of one saga that the engine itself has written, so that they have the form that it writes.
import { client } from './database.mjs';

const AT_ONCE = 100_000;
const TABLES = ['instance', 'step'];

async function columnsOf(c, table) {
  const { rows } = await c.query(
    `SELECT quote_ident(column_name) AS name FROM information_schema.columns
     WHERE table_schema = 'saga' AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position`,
    [table],
  );
  return rows.map(({ name }) => name);
}

/**
 * Ids are of version 7 and ascend, as the engine's do: at random they would touch every page of the indexes, which its
 * own never do.
 * @param template the id of the saga
 * @param set { column: expression } of its row, in which n is the number of the copy
 * @param age an interval: so long ago the copies' ids say that they were started
 * @param partitioned whether the tables are in partitions, which have no storage options of their own
 */
export async function multiply(
  db,
  template,
  count,
  { set = {}, age = '1 day', lanes = 2, partitioned = false } = {},
) {
  const c = await client(db);
  const [instance, step] = [await columnsOf(c, 'instance'), await columnsOf(c, 'step')];
  await c.end();
  const values = instance.map((name) => set[name] ?? (name === 'id' ? 'ids.id' : `t.${name}`));
  // The lateral join takes the steps of one copy after those of the other, in the order of their index.
  const fill = `
    WITH ids AS MATERIALIZED (
      SELECT n, uuidv7(-$1::interval) AS id FROM generate_series($2::bigint, $3::bigint) n),
    made AS (INSERT INTO saga.instance (${instance.join(', ')})
      SELECT ${values.join(', ')} FROM ids, saga.instance t WHERE t.id = $4 RETURNING 1)
    INSERT INTO saga.step (${step.join(', ')})
      SELECT ${step.map((name) => (name === 'saga_id' ? 'ids.id' : `s.${name}`)).join(', ')}
      FROM ids CROSS JOIN LATERAL (SELECT * FROM saga.step WHERE saga_id = $4 OFFSET 0) s`;
  let next = 0;
  const lane = async () => {
    const own = await client(db);
    await own.query('SET synchronous_commit = off');
    while (next < count) {
      const from = next;
      next = Math.min(count, next + AT_ONCE);
      await own.query(fill, [age, from + 1, next, template]);
    }
    await own.end();
  };
  const all = () => Promise.all(Array.from({ length: lanes }, lane));
  await (partitioned ? all() : withoutAutovacuum(db, all));
}

/** It would only come in between: vacuumSagas comes after. */
async function withoutAutovacuum(db, work) {
  const c = await client(db);
  for (const table of TABLES) await c.query(`ALTER TABLE saga.${table} SET (autovacuum_enabled = off)`);
  await work();
  for (const table of TABLES) await c.query(`ALTER TABLE saga.${table} RESET (autovacuum_enabled)`);
  await c.end();
}

/** Statistics, hint bits and the visibility map as they are in service, and nothing left to be written. */
export async function vacuumSagas(db) {
  const c = await client(db);
  await c.query('VACUUM ANALYZE saga.instance, saga.step');
  await c.query('CHECKPOINT');
  await c.end();
}
