import type pg from 'pg';

/** Rows that the planner assumes for each real row. */
const SCALE = 500;
const FINISHED = 20_000;
const WAITING = 2_000;

/**
 * Those that grow with what is done; the others have a row for each saga, limit or lane that was ever
 * deployed.
 */
export const GROWING = ['instance', 'step', 'signal', 'operation', 'task', 'outbox', 'inbox', 'correlation'];

/** What the planner takes them for. */
export const SIZES = {
  instance: (FINISHED + WAITING) * SCALE,
  step: (FINISHED + WAITING) * 3 * SCALE,
  outbox: FINISHED * SCALE,
  inbox: FINISHED * SCALE,
};

/** The first half of a UUIDv7 of `n` half-hours ago. */
const ID = `(lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - n * 1800000::bigint), 12, '0')
  || '7' || substr(md5(n::text || random()), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`;

/** Ten million sagas that ended within a year, a million that wait, and a few of every rare kind. */
const FILL = `
INSERT INTO saga.instance (id, name, version, correlation_id, status, step, epoch, tags, created_at, finished_at)
SELECT ${ID}, CASE WHEN n % 10 = 0 THEN 'refund' ELSE 'order' END, 1, 'old-' || n,
  CASE WHEN n % 50 = 1 THEN 'compensated' ELSE 'completed' END, '', 1,
  CASE WHEN n % 10 = 5 THEN jsonb_build_object('customer', 'c' || n % 1000) END,
  now() - n * interval '30 minutes', now() - n * interval '30 minutes'
FROM generate_series(1, ${FINISHED}) n;
INSERT INTO saga.instance (id, name, version, correlation_id, status, step, epoch)
SELECT ${ID}, 'order', 1, 'waiting-' || n, 'running', 'reply', 1 FROM generate_series(1, ${WAITING}) n;
UPDATE saga.instance SET status = 'stuck', idle_status = 'stuck' WHERE correlation_id IN ('waiting-7', 'waiting-8');
UPDATE saga.instance SET sla_at = now() + interval '1 hour' WHERE correlation_id LIKE 'waiting-1%';
UPDATE saga.instance SET sla_at = now(), overdue = correlation_id LIKE 'waiting-21%' WHERE correlation_id LIKE 'waiting-2%';
UPDATE saga.instance SET lock_key = 'k' || id, lock_state = 'waiting', lock_position = 1 WHERE correlation_id LIKE 'waiting-3%';
INSERT INTO saga.instance (id, name, version, status, step, epoch, due_at, rank_at)
SELECT ${ID}, 'order', 1, 'running', 'reply', 1, now() + n * interval '1 hour', now() + n * interval '1 hour'
FROM generate_series(1, 200) n;
INSERT INTO saga.instance (id, name, version, status, step, epoch, parent_id, parent_step, created_at, finished_at)
SELECT gen_random_uuid(), 'child', 1, 'completed', '', 1, id, 'a', created_at, finished_at
FROM saga.instance WHERE correlation_id LIKE 'old-%77';
INSERT INTO saga.task (saga_id, step, saga, since)
SELECT id, 'agree', 'order', created_at FROM saga.instance WHERE correlation_id LIKE 'waiting-%';
INSERT INTO saga.step (saga_id, name, status, attempts)
SELECT i.id, s.name, 'completed', 1 FROM saga.instance i, unnest(ARRAY['reserve', 'charge', 'ship']) s(name);
INSERT INTO saga.signal (saga_id, number, name, message_id)
SELECT id, 1, 'reply', 'm' FROM saga.instance WHERE correlation_id IS NOT NULL;
INSERT INTO saga.operation (saga_id, number, id, action, from_status, revision)
SELECT id, 1, gen_random_uuid(), 'retry', 'stuck', 1 FROM saga.instance WHERE correlation_id LIKE 'old-%3';
INSERT INTO saga.outbox (aggregatetype, aggregateid, type, payload)
SELECT 'orders', 'k' || n % 500, 't', '1' FROM generate_series(1, ${FINISHED}) n;
INSERT INTO saga.inbox SELECT 'default', gen_random_uuid()::text, now() - n * interval '1 second' FROM generate_series(1, ${FINISHED}) n;
INSERT INTO saga.graph (name, version, revision, graph) SELECT n, 1, 1, '{}' FROM unnest(ARRAY['order', 'refund', 'child']) n;`;

/** Releases all lanes of their holders. */
export const LET_GO_OF_LANES = `UPDATE saga.outbox_lane SET leased_by = NULL, leased_until = '-infinity', read_to = 0, may_hold = true`;

/**
 * Keys that are dead, too many for one look, that are due again, and that are let go, each with a line behind
 * it; others than the time before.
 */
export async function makeTrouble(client: pg.Client, time: number): Promise<void> {
  const first = 100 + time * 16;
  const [failed, due, behind, ...dead] = Array.from({ length: 16 }, (_, n) => `k${first + n}`);
  const nth = (key: string | undefined, n: number) =>
    `seq = (SELECT seq FROM saga.outbox WHERE aggregateid = '${key}' ORDER BY seq LIMIT 1 OFFSET ${n})`;
  await client.query(`
    ${LET_GO_OF_LANES};
    UPDATE saga.outbox SET attempts = 1 WHERE NOT held AND seq % 97 = 0;
    UPDATE saga.outbox SET held = true WHERE aggregateid IN (SELECT 'k' || n FROM generate_series(${first}, ${first + 15}) n);
    ${dead.map((key) => `UPDATE saga.outbox SET dead_at = now(), attempts = 3 WHERE ${nth(key, 0)};`).join('\n')}
    UPDATE saga.outbox SET retry_at = now(), attempts = 1 WHERE ${nth(failed, 0)};
    UPDATE saga.outbox SET retry_at = now() WHERE ${nth(due, 0)};
    UPDATE saga.outbox SET retry_at = now() WHERE ${nth(behind, 1)};`);
}

/**
 * Fills the tables with a little, and makes the planner take it for a lot: it reckons with the size of the
 * file, and with
 * the rows on a page as pg_class says. What it knows of columns is as analysed; distinct values are fractions
 * there.
 */
export async function makeHuge(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relnamespace = 'saga'::regnamespace AND c.relkind = 'r'
       AND c.relname ~ '^(${GROWING.join('|')})(_|$)' AND c.relname <> 'outbox_lane'`,
  );
  // Autovacuum must not correct it meanwhile.
  for (const { name } of rows) await client.query(`ALTER TABLE ${name} SET (autovacuum_enabled = off)`);
  await client.query(FILL);
  if (rows.some(({ name }) => name === 'saga.correlation'))
    await client.query(
      `INSERT INTO saga.correlation SELECT correlation_id, name, id FROM saga.instance WHERE correlation_id IS NOT NULL`,
    );
  await client.query('ANALYZE');
  // As a new partition is.
  await client.query('UPDATE pg_class SET reltuples = -1 WHERE relpages = 0 AND reltuples = 0');
  await client.query(
    `UPDATE pg_class c SET reltuples = reltuples * ${SCALE} WHERE c.reltuples > 0 AND (c.oid = ANY($1::regclass[]::oid[])
       OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = ANY($1::regclass[]::oid[])))`,
    [rows.map(({ name }) => name)],
  );
}

/** How many rows the planner expects of a whole table. */
export async function expectedRows(client: pg.Client, table: string): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `EXPLAIN (FORMAT json) SELECT * FROM saga.${table}`,
  );
  return rows[0]!['QUERY PLAN'][0].Plan['Plan Rows'];
}
