import type { MigrationSql } from './migration-sql.js';

/**
 * The SQL of a migration of version 0.1.0. Generated, and never edited: `UPDATE_MIGRATIONS=1` (CONTRIBUTING.md). It is a
 * module, because a module is found by every loader and bundler; an .sql file beside the code is not.
 */
export const MESSAGING_TABLES_0_1_0: MigrationSql = {
  up: [
    `CREATE SCHEMA IF NOT EXISTS "{schema}"`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".outbox (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        seq bigint GENERATED ALWAYS AS IDENTITY,
        aggregatetype text NOT NULL,
        aggregateid text NOT NULL,
        type text NOT NULL,
        payload json,
        headers jsonb NOT NULL DEFAULT '{}',
        lane smallint NOT NULL GENERATED ALWAYS AS
          ((hashtextextended(aggregatetype || ' ' || aggregateid, 0) & 63)::smallint) STORED,
        bytes int NOT NULL GENERATED ALWAYS AS
          (coalesce(octet_length(payload::text), 0) + octet_length(headers::text)) STORED,
        held boolean NOT NULL DEFAULT false,
        attempts int NOT NULL DEFAULT 0,
        retry_at timestamptz,
        dead_at timestamptz,
        error text,
        created_at timestamptz NOT NULL DEFAULT now()
      )`,
    `
      CREATE INDEX IF NOT EXISTS outbox_ready ON "{schema}".outbox (lane, seq) WHERE NOT held`,
    `
      CREATE INDEX IF NOT EXISTS outbox_held ON "{schema}".outbox (lane, aggregatetype, aggregateid, seq) WHERE held`,
    `
      CREATE INDEX IF NOT EXISTS outbox_retry ON "{schema}".outbox (lane, retry_at) WHERE retry_at IS NOT NULL`,
    `
      CREATE INDEX IF NOT EXISTS outbox_dead ON "{schema}".outbox (dead_at, id) WHERE dead_at IS NOT NULL`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".outbox_lane (
        lane smallint PRIMARY KEY,
        epoch bigint NOT NULL DEFAULT 0,
        leased_by text,
        leased_until timestamptz NOT NULL DEFAULT '-infinity',
        served_at timestamptz NOT NULL DEFAULT '-infinity',
        may_hold boolean NOT NULL DEFAULT true,
        read_to bigint NOT NULL DEFAULT 0,
        read_in pg_snapshot,
        mark_xids xid8[] NOT NULL DEFAULT '{}',
        mark_seqs bigint[] NOT NULL DEFAULT '{}',
        safe_from bigint NOT NULL DEFAULT 0,
        read_from_start_at timestamptz NOT NULL DEFAULT '-infinity'
      ) WITH (fillfactor = 50)`,
    `
      INSERT INTO "{schema}".outbox_lane (lane) SELECT generate_series(0, 63) ON CONFLICT DO NOTHING`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".relay (
        id smallint PRIMARY KEY CHECK (id = 1),
        asleep boolean NOT NULL
      ) WITH (fillfactor = 50)`,
    `INSERT INTO "{schema}".relay VALUES (1, true) ON CONFLICT DO NOTHING`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".inbox (
        consumer text NOT NULL,
        message_id text NOT NULL,
        handled_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (consumer, message_id)
      )`,
    `CREATE INDEX IF NOT EXISTS inbox_handled ON "{schema}".inbox (handled_at)`,
    `
CREATE OR REPLACE FUNCTION "{schema}".publish_1(uuid[], text[], text[], text[], json[], jsonb[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
  PERFORM pg_current_xact_id();
  INSERT INTO "{schema}".outbox (id, aggregatetype, aggregateid, type, payload, headers)
  SELECT w.id, w.topic, w.key, w.type, w.payload, w.headers FROM unnest($1, $2, $3, $4, $5, $6) AS w(id, topic, key, type, payload, headers)
  ON CONFLICT (id) DO NOTHING;
  PERFORM pg_notify('{schema}_wakeup', 'published') FROM "{schema}".relay r WHERE r.asleep OR current_setting('transaction_isolation') <> 'read committed';
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".inbox_forget_1(float8, int) RETURNS int LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  forgotten int;
BEGIN
  WITH old AS MATERIALIZED (
    SELECT i.consumer, i.message_id FROM "{schema}".inbox i WHERE i.handled_at < now() - $1 * interval '1 millisecond'
    ORDER BY i.handled_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM "{schema}".inbox i USING old WHERE i.consumer = old.consumer AND i.message_id = old.message_id;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".outbox_let_go_1(smallint[]) RETURNS smallint[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  due record;
  changed smallint[] := '{}';
BEGIN
  FOR due IN
    SELECT r.* FROM unnest($1) AS l(lane)
    CROSS JOIN LATERAL (
      SELECT o.id, o.lane, o.seq, o.aggregatetype AS topic, o.aggregateid AS key, o.attempts
      FROM "{schema}".outbox o WHERE o.lane = l.lane AND o.retry_at <= now()
      ORDER BY o.retry_at LIMIT 100) r
  LOOP
    PERFORM FROM "{schema}".outbox b
    WHERE b.held AND b.lane = due.lane AND b.aggregatetype = due.topic AND b.aggregateid = due.key AND b.seq < due.seq LIMIT 1;
    IF FOUND THEN
      UPDATE "{schema}".outbox o SET retry_at = NULL WHERE o.id = due.id;
    ELSIF due.attempts > 0 THEN
      -- It failed before, and may again: the others wait until it is sent.
      UPDATE "{schema}".outbox o SET held = false, retry_at = NULL WHERE o.id = due.id;
      changed := changed || due.lane;
    ELSE
      UPDATE "{schema}".outbox o SET held = false, retry_at = NULL
      FROM (SELECT b.id, bool_or(b.dead_at IS NOT NULL) OVER (ORDER BY b.seq) AS waits FROM (
        SELECT h.id, h.seq, h.dead_at FROM "{schema}".outbox h
        WHERE h.held AND h.lane = due.lane AND h.aggregatetype = due.topic AND h.aggregateid = due.key
        ORDER BY h.seq LIMIT 1000) b) w
      WHERE o.id = w.id AND NOT w.waits;
      UPDATE "{schema}".outbox o SET retry_at = now()
      FROM (SELECT b.id, b.dead_at FROM "{schema}".outbox b
        WHERE b.held AND b.lane = due.lane AND b.aggregatetype = due.topic AND b.aggregateid = due.key
        ORDER BY b.seq LIMIT 1) w
      WHERE o.id = w.id AND w.dead_at IS NULL;
      changed := changed || due.lane;
    END IF;
  END LOOP;
  RETURN changed;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".outbox_take_1(text, float8, int, int, bigint)
RETURNS TABLE (lane smallint, epoch bigint, seq bigint, id uuid, topic text, key text, type text, payload text,
  headers jsonb, attempts int, behind boolean) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
#variable_conflict use_column
DECLARE
  lanes smallint[];
  changed smallint[];
  share int;
  taken int;
BEGIN
  SELECT array_agg(p.lane) INTO lanes FROM (
    SELECT l.lane FROM (
      SELECT f.lane FROM (
        SELECT e.* FROM "{schema}".outbox_lane e WHERE e.leased_until < now() ORDER BY e.served_at, e.lane OFFSET 0) f
      WHERE EXISTS (SELECT FROM (SELECT 
  CASE WHEN f.leased_by IS NOT NULL OR f.read_from_start_at <= now() - interval '1 minute' THEN 0
  WHEN f.read_to - f.safe_from <= 20000 THEN least(f.read_to, f.safe_from)
  ELSE least(f.read_to, (
    SELECT coalesce(max(m.seq), 0) FROM unnest(f.mark_xids, f.mark_seqs) AS m(xid, seq)
    WHERE m.xid < coalesce(
      (SELECT x.xid FROM pg_snapshot_xip(f.read_in) AS x(xid)
        WHERE pg_visible_in_snapshot(x.xid, (SELECT pg_current_snapshot())) ORDER BY x.xid LIMIT 1),
      pg_snapshot_xmax(f.read_in)))) END AS after OFFSET 0) s, "{schema}".outbox o
          WHERE o.lane = f.lane AND NOT o.held AND o.seq > s.after)
        OR EXISTS (SELECT FROM "{schema}".outbox o WHERE o.lane = f.lane AND o.retry_at <= now())
      OFFSET 0) c
    CROSS JOIN LATERAL (
      SELECT e.lane FROM "{schema}".outbox_lane e WHERE e.lane = c.lane AND e.leased_until < now()
      FOR UPDATE SKIP LOCKED) l
    LIMIT $4) p;
  IF lanes IS NULL THEN
    UPDATE "{schema}".relay r SET asleep = true
    WHERE NOT r.asleep AND NOT EXISTS (SELECT FROM "{schema}".outbox_lane l WHERE l.leased_until >= now());
    RETURN;
  END IF;
  changed := "{schema}".outbox_let_go_1(lanes);
  IF changed <> '{}' THEN UPDATE "{schema}".outbox_lane l SET read_to = 0 WHERE l.lane = ANY(changed); END IF;
  share := greatest(1, $3 / cardinality(lanes));

  RETURN QUERY
  WITH read AS MATERIALIZED (
    SELECT l.lane, l.place, l.after, o.*
    FROM (SELECT f.lane, u.place, f.may_hold, 
  CASE WHEN f.leased_by IS NOT NULL OR f.read_from_start_at <= now() - interval '1 minute' THEN 0
  WHEN f.read_to - f.safe_from <= 20000 THEN least(f.read_to, f.safe_from)
  ELSE least(f.read_to, (
    SELECT coalesce(max(m.seq), 0) FROM unnest(f.mark_xids, f.mark_seqs) AS m(xid, seq)
    WHERE m.xid < coalesce(
      (SELECT x.xid FROM pg_snapshot_xip(f.read_in) AS x(xid)
        WHERE pg_visible_in_snapshot(x.xid, (SELECT pg_current_snapshot())) ORDER BY x.xid LIMIT 1),
      pg_snapshot_xmax(f.read_in)))) END AS after FROM unnest(lanes) WITH ORDINALITY AS u(lane, place)
      CROSS JOIN LATERAL (SELECT * FROM "{schema}".outbox_lane e WHERE e.lane = u.lane OFFSET 0) f OFFSET 0) l
    CROSS JOIN LATERAL (
      SELECT c.seq, c.id, c.topic, c.key, c.type, c.payload, c.headers, c.attempts, c.behind, c.bytes,
        sum(c.bytes) OVER (ORDER BY c.seq ROWS UNBOUNDED PRECEDING) - c.bytes AS before
      FROM (SELECT r.seq, r.id, r.topic, r.key, r.type, r.payload, r.headers, r.attempts, b.behind,
          CASE WHEN b.behind THEN 0 ELSE r.bytes END AS bytes
        FROM (SELECT o.seq, o.id, o.aggregatetype AS topic, o.aggregateid AS key, o.type, o.payload, o.headers, o.attempts,
            o.bytes
          FROM "{schema}".outbox o WHERE o.lane = l.lane AND NOT o.held AND o.seq > l.after
          ORDER BY o.seq LIMIT share) r
        CROSS JOIN LATERAL (SELECT l.may_hold AND EXISTS (SELECT FROM "{schema}".outbox h
          WHERE h.held AND h.lane = l.lane AND h.aggregatetype = r.topic AND h.aggregateid = r.key AND h.seq < r.seq)
          AS behind OFFSET 0) b) c
    ) o
    WHERE o.before < greatest(1, $5 / cardinality(lanes))
  ), held AS (
    UPDATE "{schema}".outbox h SET held = true FROM read WHERE read.behind AND h.id = read.id
  ), pages AS (
    SELECT r.*, sum(r.bytes) OVER (ORDER BY r.place ROWS UNBOUNDED PRECEDING) - r.bytes AS before FROM (
      SELECT read.lane, min(read.place) AS place, min(read.after) AS after, max(read.seq) AS last, sum(read.bytes) AS bytes,
        bool_and(read.behind) AS nothing
      FROM read GROUP BY read.lane) r
  ), leased AS (
    UPDATE "{schema}".outbox_lane l SET
      epoch = l.epoch + 1,
      leased_by = CASE WHEN NOT p.nothing THEN $1 END,
      leased_until = CASE WHEN p.nothing THEN '-infinity' ELSE now() + $2 * interval '1 millisecond' END,
      served_at = now(),
      read_to = p.last,
      read_in = pg_current_snapshot(),
      safe_from = 
  (SELECT coalesce(max(m.seq), 0) FROM unnest(l.mark_xids, l.mark_seqs) AS m(xid, seq)
    WHERE m.xid < pg_snapshot_xmin(pg_current_snapshot())),
      may_hold = l.may_hold AND (p.after > 0 OR EXISTS (SELECT FROM "{schema}".outbox h WHERE h.held AND h.lane = p.lane OFFSET 0)),
      read_from_start_at = CASE WHEN p.after = 0 THEN now() ELSE l.read_from_start_at END
    FROM pages p WHERE l.lane = p.lane AND p.before < $5
    RETURNING l.lane, l.epoch
  )
  SELECT read.lane, leased.epoch, read.seq, read.id, read.topic, read.key, read.type,
    CASE WHEN NOT read.behind THEN read.payload::text END, read.headers, read.attempts, read.behind
  FROM read JOIN leased ON leased.lane = read.lane ORDER BY read.lane, read.seq;

  GET DIAGNOSTICS taken = ROW_COUNT;
  IF taken >= $3 / 2 THEN UPDATE "{schema}".relay r SET asleep = false WHERE r.asleep; END IF;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".outbox_settle_1(uuid[], uuid[], text[], int[], float8[], uuid[],
  smallint[], bigint[], boolean[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  gone record;
  mine smallint[];
BEGIN
  SELECT array_agg(p.lane) FILTER (WHERE p.mine) INTO mine FROM (
    SELECT l.lane, l.epoch = w.epoch AS mine FROM unnest($7, $8) AS w(lane, epoch)
    JOIN "{schema}".outbox_lane l ON l.lane = w.lane
    ORDER BY l.lane FOR UPDATE OF l) p;

  FOR gone IN
    WITH deleted AS (
      DELETE FROM "{schema}".outbox o USING unnest($1) AS w(id) WHERE o.id = w.id
      RETURNING o.lane, o.aggregatetype AS topic, o.aggregateid AS key, o.attempts)
    SELECT d.lane, d.topic, d.key FROM deleted d WHERE d.attempts > 0
  LOOP
    UPDATE "{schema}".outbox o SET retry_at = now()
      FROM (SELECT b.id, b.dead_at FROM "{schema}".outbox b
        WHERE b.held AND b.lane = gone.lane AND b.aggregatetype = gone.topic AND b.aggregateid = gone.key
        ORDER BY b.seq LIMIT 1) w
      WHERE o.id = w.id AND w.dead_at IS NULL;
  END LOOP;

  UPDATE "{schema}".outbox o SET
    held = true, attempts = w.attempts, error = w.error,
    retry_at = now() + w.delay * interval '1 millisecond',
    dead_at = CASE WHEN w.delay IS NULL THEN now() END
  FROM unnest($2, $3, $4, $5) AS w(id, error, attempts, delay)
  WHERE o.id = w.id AND o.lane = ANY(mine);
  UPDATE "{schema}".outbox o SET held = true FROM unnest($6) AS w(id) WHERE o.id = w.id AND o.lane = ANY(mine);

  UPDATE "{schema}".outbox_lane l SET
    leased_by = NULL, leased_until = '-infinity', read_to = CASE WHEN w.rest THEN 0 ELSE l.read_to END,
    may_hold = l.may_hold OR $2 <> '{}' OR $6 <> '{}',
    
  mark_xids = 
    CASE WHEN cardinality(l.mark_xids) < 12 THEN l.mark_xids ELSE (
      SELECT coalesce(array_agg(m.xid ORDER BY m.xid), '{}') FROM (
        SELECT u.xid, u.seq, lead(u.xid) OVER w AS next, row_number() OVER w AS place, count(*) OVER () AS size
        FROM unnest(l.mark_xids, l.mark_seqs) AS u(xid, seq) WINDOW w AS (ORDER BY u.xid)) m
      WHERE (m.next IS NULL OR m.next >= pg_snapshot_xmin(l.read_in))
        AND (m.place = 1 OR m.place > m.size - 6)) END || pg_current_xact_id(),
  mark_seqs = 
    CASE WHEN cardinality(l.mark_xids) < 12 THEN l.mark_seqs ELSE (
      SELECT coalesce(array_agg(m.seq ORDER BY m.xid), '{}') FROM (
        SELECT u.xid, u.seq, lead(u.xid) OVER w AS next, row_number() OVER w AS place, count(*) OVER () AS size
        FROM unnest(l.mark_xids, l.mark_seqs) AS u(xid, seq) WINDOW w AS (ORDER BY u.xid)) m
      WHERE (m.next IS NULL OR m.next >= pg_snapshot_xmin(l.read_in))
        AND (m.place = 1 OR m.place > m.size - 6)) END || l.read_to
  FROM unnest($7, $8, $9) AS w(lane, epoch, rest)
  WHERE l.lane = w.lane AND l.epoch = w.epoch;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".outbox_requeue_1(uuid[]) RETURNS int LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  changed int;
BEGIN
  UPDATE "{schema}".outbox o SET dead_at = NULL, attempts = 0, retry_at = now()
  FROM unnest($1) AS w(id) WHERE o.id = w.id AND o.dead_at IS NOT NULL;
  GET DIAGNOSTICS changed = ROW_COUNT;
  RETURN changed;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".outbox_discard_1(uuid[]) RETURNS int LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  gone record;
  changed int := 0;
BEGIN
  PERFORM FROM "{schema}".outbox_lane l
  WHERE l.lane IN (SELECT o.lane FROM unnest($1) AS w(id) JOIN "{schema}".outbox o ON o.id = w.id)
  ORDER BY l.lane FOR UPDATE;
  FOR gone IN
    WITH deleted AS (
      DELETE FROM "{schema}".outbox o USING unnest($1) AS w(id) WHERE o.id = w.id AND o.dead_at IS NOT NULL
      RETURNING o.lane, o.aggregatetype AS topic, o.aggregateid AS key)
    SELECT * FROM deleted
  LOOP
    changed := changed + 1;
    UPDATE "{schema}".outbox o SET retry_at = now()
      FROM (SELECT b.id, b.dead_at FROM "{schema}".outbox b
        WHERE b.held AND b.lane = gone.lane AND b.aggregatetype = gone.topic AND b.aggregateid = gone.key
        ORDER BY b.seq LIMIT 1) w
      WHERE o.id = w.id AND w.dead_at IS NULL;
  END LOOP;
  RETURN changed;
END $function$`,
  ],
  down: [
    `DROP FUNCTION IF EXISTS "{schema}".publish_1`,
    `DROP FUNCTION IF EXISTS "{schema}".outbox_let_go_1`,
    `DROP FUNCTION IF EXISTS "{schema}".outbox_take_1`,
    `DROP FUNCTION IF EXISTS "{schema}".outbox_settle_1`,
    `DROP FUNCTION IF EXISTS "{schema}".outbox_requeue_1`,
    `DROP FUNCTION IF EXISTS "{schema}".outbox_discard_1`,
    `DROP FUNCTION IF EXISTS "{schema}".inbox_forget_1`,
    `DROP TABLE IF EXISTS "{schema}".outbox`,
    `DROP TABLE IF EXISTS "{schema}".outbox_lane`,
    `DROP TABLE IF EXISTS "{schema}".relay`,
    `DROP TABLE IF EXISTS "{schema}".inbox`,
  ],
};
