// The rows that the engine ends up with, written by SQL alone: after one saga of the engine's own, which is the model.
import { client } from '../lib/database.mjs';

/** What is each saga's own, and not compared. */
const OWN = ['id', 'saga_id', 'input', 'locked_by'];

/**
 * bench.start(n) gives the ids of n new sagas, leased as by the engine's start; bench.checkpoint(ids, step) stores a
 * step of each. Planned as the engine's own functions are: see checkpoint.sql.
 */
export async function makeFunctions(db, name) {
  const c = await client(db);
  await c.query('CREATE SCHEMA bench');
  await c.query(`CREATE FUNCTION bench.start(int) RETURNS uuid[] LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan AS $$
    DECLARE ids uuid[];
    BEGIN
      WITH made AS (
        INSERT INTO saga.instance (id, name, version, status, step, input, priority, epoch, locked_by, due_at, rank_at)
        SELECT uuidv7(), '${name}', 1, 'running', 's1', json_build_object('i', n), 0, 1, 'bench',
          now() + interval '30 s', now() + interval '30 s'
        FROM generate_series(1, $1) n RETURNING id)
      SELECT array_agg(id) INTO ids FROM made;
      RETURN ids;
    END $$`);
  await c.query(`CREATE FUNCTION bench.checkpoint(uuid[], text) RETURNS void LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    BEGIN
      UPDATE saga.instance i SET checkpoints = i.checkpoints + 1, updated_at = now(),
        step = CASE $2 WHEN 's1' THEN 's2' WHEN 's2' THEN 's3' ELSE m.step END,
        status = CASE WHEN $2 = 's3' THEN 'completed' ELSE i.status END,
        locked_by = CASE WHEN $2 = 's3' THEN m.locked_by ELSE i.locked_by END,
        due_at = CASE WHEN $2 = 's3' THEN m.due_at ELSE i.due_at END,
        rank_at = CASE WHEN $2 = 's3' THEN m.rank_at ELSE i.rank_at END,
        finished_at = CASE WHEN $2 = 's3' THEN now() END
      FROM unnest($1) AS w(id), bench.model m WHERE i.id = w.id;
      INSERT INTO saga.step (saga_id, name, status, attempts, result)
      SELECT w.id, $2, 'completed', 1, '1' FROM unnest($1) AS w(id);
    END $$`);
  await c.query('CREATE TABLE bench.model AS SELECT * FROM saga.instance');
  await c.query('CREATE TABLE bench.model_step AS SELECT * FROM saga.step');
  await c.end();
}

/** The columns in which a row of ours is not as the engine's: times are there or not, all else is equal. */
export async function differences(db) {
  const c = await client(db);
  const { rows } = await c.query(
    `WITH made AS (SELECT i.* FROM saga.instance i WHERE i.id NOT IN (SELECT id FROM bench.model) LIMIT 1),
     pairs AS (
       SELECT to_jsonb(m) AS theirs, to_jsonb(made) AS ours FROM made, bench.model m
       UNION ALL
       SELECT to_jsonb(m), to_jsonb(s) FROM made JOIN saga.step s ON s.saga_id = made.id
         JOIN bench.model_step m ON m.name = s.name)
     SELECT DISTINCT o.key FROM pairs, jsonb_each(ours) o
     WHERE o.key <> ALL($1) AND CASE
       WHEN o.key LIKE '%\\_at' THEN (theirs -> o.key = 'null') <> (o.value = 'null')
       ELSE theirs -> o.key <> o.value END`,
    [OWN],
  );
  await c.end();
  return rows.map(({ key }) => key);
}
