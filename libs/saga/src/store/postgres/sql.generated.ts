// npm run generate writes this file from the .sql files of this folder.
import { sqlStatement } from './sql-statement.js';

export const FUNCTIONS = {
  bytes_at_most: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.bytes_at_most(uuid[]) RETURNS bigint LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  least_id uuid;
BEGIN
  least_id := (SELECT u.id FROM unnest($1) u(id) ORDER BY u.id LIMIT 1);
  RETURN (SELECT coalesce(sum((
    coalesce(pg_column_size(i.input)::bigint * CASE WHEN pg_column_compression(i.input) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(i.started_input)::bigint * CASE WHEN pg_column_compression(i.started_input) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(i.failure)::bigint * CASE WHEN pg_column_compression(i.failure) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(i.progress)::bigint * CASE WHEN pg_column_compression(i.progress) IS NULL THEN 1 ELSE 256 END, 0)
    + CASE WHEN i.checkpoints = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(pg_column_size(s.result)::bigint * CASE WHEN pg_column_compression(s.result) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(s.errors)::bigint * CASE WHEN pg_column_compression(s.errors) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(s.progress)::bigint * CASE WHEN pg_column_compression(s.progress) IS NULL THEN 1 ELSE 256 END, 0)), 0)
        + greatest(count(*) - 64, 0) * 500
      FROM saga.step s WHERE s.saga_id = i.id) END
    + CASE WHEN i.signals = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(pg_column_size(g.payload)::bigint * CASE WHEN pg_column_compression(g.payload) IS NULL THEN 1 ELSE 256 END, 0)), 0) FROM saga.signal g
      WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END)::bigint), 0)
    FROM saga.instance i WHERE i.id = ANY($1) AND i.id >= least_id);
END $function$` as string,
  },
  bytes: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.bytes(uuid, bigint) RETURNS bigint LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  stored bigint;
BEGIN
  SELECT (
    coalesce(pg_column_size(i.input), 0)::bigint + coalesce(pg_column_size(i.started_input), 0)::bigint + coalesce(pg_column_size(i.failure), 0)::bigint + coalesce(pg_column_size(i.progress), 0)::bigint
    + CASE WHEN i.checkpoints = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(pg_column_size(s.result), 0)::bigint + coalesce(pg_column_size(s.errors), 0)::bigint + coalesce(pg_column_size(s.progress), 0)::bigint), 0)
        + greatest(count(*) - 64, 0) * 500
      FROM saga.step s WHERE s.saga_id = i.id) END
    + CASE WHEN i.signals = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(pg_column_size(g.payload), 0)::bigint), 0) FROM saga.signal g
      WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END)::bigint INTO stored FROM saga.instance i WHERE i.id = $1;
  IF stored >= $2 THEN RETURN stored; END IF;
  RETURN (SELECT (
    coalesce(CASE WHEN pg_column_compression(i.input) IS NULL THEN pg_column_size(i.input) ELSE octet_length(i.input::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(i.started_input) IS NULL THEN pg_column_size(i.started_input) ELSE octet_length(i.started_input::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(i.failure) IS NULL THEN pg_column_size(i.failure) ELSE octet_length(i.failure::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(i.progress) IS NULL THEN pg_column_size(i.progress) ELSE octet_length(i.progress::text) END, 0)::bigint
    + CASE WHEN i.checkpoints = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(CASE WHEN pg_column_compression(s.result) IS NULL THEN pg_column_size(s.result) ELSE octet_length(s.result::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(s.errors) IS NULL THEN pg_column_size(s.errors) ELSE octet_length(s.errors::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(s.progress) IS NULL THEN pg_column_size(s.progress) ELSE octet_length(s.progress::text) END, 0)::bigint), 0)
        + greatest(count(*) - 64, 0) * 500
      FROM saga.step s WHERE s.saga_id = i.id) END
    + CASE WHEN i.signals = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(CASE WHEN pg_column_compression(g.payload) IS NULL THEN pg_column_size(g.payload) ELSE octet_length(g.payload::text) END, 0)::bigint), 0) FROM saga.signal g
      WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END)::bigint FROM saga.instance i WHERE i.id = $1);
END $function$` as string,
  },
  page: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.page(uuid[], bigint, OUT ids uuid[], OUT in_parts boolean) LANGUAGE plpgsql STABLE AS $function$
DECLARE
  total bigint := 0;
BEGIN
  ids := $1;
  in_parts := false;
  IF saga.bytes_at_most($1) <= $2 THEN RETURN; END IF;
  FOR n IN 1..cardinality($1) LOOP
    total := total + saga.bytes($1[n], $2 - total + 1);
    IF total > $2 THEN
      in_parts := n = 1;
      ids := $1[1:greatest(n - 1, 1)];
      RETURN;
    END IF;
  END LOOP;
END $function$` as string,
  },
  step_part: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.step_part(uuid, text, bigint) RETURNS text LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  part record;
  total bigint := 0;
  last text;
BEGIN
  FOR part IN
    SELECT s.name, coalesce(CASE WHEN pg_column_compression(s.result) IS NULL THEN pg_column_size(s.result) ELSE octet_length(s.result::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(s.errors) IS NULL THEN pg_column_size(s.errors) ELSE octet_length(s.errors::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(s.progress) IS NULL THEN pg_column_size(s.progress) ELSE octet_length(s.progress::text) END, 0)::bigint + 500 AS bytes
    FROM saga.step s WHERE s.saga_id = $1 AND s.name > $2 ORDER BY s.name
  LOOP
    total := total + part.bytes;
    EXIT WHEN total > $3 AND last IS NOT NULL;
    last := part.name;
  END LOOP;
  RETURN last;
END $function$` as string,
  },
  signal_part: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.signal_part(uuid, int, bigint) RETURNS int LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  part record;
  total bigint := 0;
  last int;
BEGIN
  FOR part IN
    SELECT g.number, coalesce(CASE WHEN pg_column_compression(g.payload) IS NULL THEN pg_column_size(g.payload) ELSE octet_length(g.payload::text) END, 0)::bigint + 200 AS bytes
    FROM saga.instance i CROSS JOIN LATERAL (
      SELECT * FROM saga.signal g WHERE g.saga_id = i.id AND g.number > $2 AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0) ORDER BY g.number) g
    WHERE i.id = $1
  LOOP
    total := total + part.bytes;
    EXIT WHEN total > $3 AND last IS NOT NULL;
    last := part.number;
  END LOOP;
  RETURN last;
END $function$` as string,
  },
  checkpoint_publish: {
    folder: 'schema/functions',
    parameters: [],
    values: [
      'MESSAGE_TYPES',
      'SAGA_TYPES',
      'STEP_TYPES',
      'IS_RAISED',
      'SAGA_GIVEN',
      'STEP_GIVEN',
      'MESSAGE_GIVEN',
      'MESSAGE_AGGREGATES',
      'MESSAGE_COLUMNS',
    ],
    text: `CREATE OR REPLACE FUNCTION saga.checkpoint_publish(publishers uuid[], :MESSAGE_TYPES, lock_names text[], lock_keys text[],
  :SAGA_TYPES, :STEP_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  IF cardinality(lock_names) > 0 AND :IS_RAISED THEN RETURN ARRAY[NULL]::uuid[]; END IF;
  IF cardinality(lock_names) > 0 THEN
    saved := saga.checkpoint_locked(lock_names, lock_keys, :SAGA_GIVEN, :STEP_GIVEN, fresh);
  ELSE
    saved := saga.checkpoint(:SAGA_GIVEN, :STEP_GIVEN, fresh);
  END IF;
  IF cardinality(saved) = cardinality(w_id) THEN
    PERFORM saga.publish(:MESSAGE_GIVEN);
  ELSE
    PERFORM saga.publish(:MESSAGE_AGGREGATES)
    FROM unnest(publishers, :MESSAGE_GIVEN) WITH ORDINALITY AS w(saga_id, :MESSAGE_COLUMNS, row_of_call)
    WHERE w.saga_id = ANY(saved)
    HAVING count(*) > 0;
  END IF;
  RETURN saved;
END $function$` as string,
  },
  checkpoint: {
    folder: 'schema/functions',
    parameters: [],
    values: [
      'SAGA_TYPES',
      'STEP_TYPES',
      'CHECKPOINTED',
      'IN_PROGRESS',
      'PRIORITY_POINT_MS',
      'SAGA_GIVEN',
      'SAGA_COLUMNS',
      'CHANNEL',
      'STATE_COLUMNS',
      'STATE_WRITTEN',
      'STEP_GIVEN',
      'STEP_COLUMNS',
      'STATE_UPDATES',
    ],
    text: `CREATE OR REPLACE FUNCTION saga.checkpoint(:SAGA_TYPES, :STEP_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_mergejoin = off SET enable_nestloop = off SET enable_bitmapscan = off AS $function$
DECLARE
  saved uuid[];
BEGIN
  WITH updated AS (
    UPDATE saga.instance i SET
      :CHECKPOINTED,
      takeovers = 0, losses = CASE WHEN w.stalls THEN i.losses ELSE 0 END, checkpoints = w.number,
      locked_by = CASE WHEN w.released THEN NULL ELSE i.locked_by END,
      due_at = CASE WHEN w.released OR w.settled THEN CASE WHEN i.woken AND w.status IN :IN_PROGRESS THEN now() ELSE to_timestamp(w.due_at / 1000) END ELSE i.due_at END,
      rank_at = CASE WHEN w.released OR w.settled
        THEN CASE WHEN i.woken AND w.status IN :IN_PROGRESS THEN now() ELSE to_timestamp(w.due_at / 1000) END - i.priority * interval ':PRIORITY_POINT_MS milliseconds'
        ELSE i.rank_at END,
      idle_status = CASE WHEN w.released OR w.settled THEN CASE WHEN w.status <> 'running' AND w.terminal IS NOT TRUE THEN w.status END ELSE i.idle_status END,
      updated_at = now(),
      finished_at = CASE WHEN w.terminal THEN coalesce(i.finished_at, now()) END
    FROM unnest(:SAGA_GIVEN) AS w(:SAGA_COLUMNS)
    WHERE i.id = w.id AND i.epoch = w.epoch AND i.checkpoints < w.number AND (i.cancel_requested_at IS NULL OR w.cancel_seen)
      AND (NOT i.pause_requested OR w.pause_seen) AND i.id = ANY(w_id)
    RETURNING i.id, CASE WHEN i.watched AND w.settled THEN pg_notify(:CHANNEL, 'settled:' || i.id) END,
      CASE WHEN i.woken AND w.released AND w.settled IS NOT TRUE THEN pg_notify(:CHANNEL, 'due') END
  )
  SELECT coalesce(array_agg(updated.id), '{}') INTO saved FROM updated;

  IF fresh THEN
    INSERT INTO saga.step AS s (saga_id, name, :STATE_COLUMNS,
      progress, started_at, updated_at)
    SELECT c.saga_id, c.name, :STATE_WRITTEN,
      c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM unnest(:STEP_GIVEN) AS c(:STEP_COLUMNS)
    WHERE cardinality(saved) = cardinality(w_id) OR c.saga_id = ANY(saved);
  ELSE
    INSERT INTO saga.step AS s (saga_id, name, :STATE_COLUMNS,
      progress, started_at, updated_at)
    SELECT c.saga_id, c.name, :STATE_WRITTEN,
      c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM unnest(:STEP_GIVEN) AS c(:STEP_COLUMNS)
    WHERE cardinality(saved) = cardinality(w_id) OR c.saga_id = ANY(saved)
    ON CONFLICT (saga_id, name) DO UPDATE SET
      :STATE_UPDATES,
      progress = excluded.progress,
      updated_at = excluded.updated_at;
  END IF;

  RETURN saved;
END $function$` as string,
  },
  checkpoint_one: {
    folder: 'schema/functions',
    parameters: [],
    values: [
      'SAGA_TYPES_ONE',
      'STEP_TYPES_ONE',
      'CHECKPOINTED',
      'IN_PROGRESS',
      'PRIORITY_POINT_MS',
      'SAGA_GIVEN_ONE',
      'CHANNEL',
      'STATE_COLUMNS',
      'STATE_WRITTEN',
      'STEP_GIVEN_ONE',
      'STATE_UPDATES',
    ],
    text: `CREATE OR REPLACE FUNCTION saga.checkpoint_one(:SAGA_TYPES_ONE, :STEP_TYPES_ONE, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_mergejoin = off SET enable_hashjoin = off AS $function$
DECLARE
  saved uuid[];
BEGIN
  WITH updated AS (
    UPDATE saga.instance i SET
      :CHECKPOINTED,
      takeovers = 0, losses = CASE WHEN w.stalls THEN i.losses ELSE 0 END, checkpoints = w.number,
      locked_by = CASE WHEN w.released THEN NULL ELSE i.locked_by END,
      due_at = CASE WHEN w.released OR w.settled THEN CASE WHEN i.woken AND w.status IN :IN_PROGRESS THEN now() ELSE to_timestamp(w.due_at / 1000) END ELSE i.due_at END,
      rank_at = CASE WHEN w.released OR w.settled
        THEN CASE WHEN i.woken AND w.status IN :IN_PROGRESS THEN now() ELSE to_timestamp(w.due_at / 1000) END - i.priority * interval ':PRIORITY_POINT_MS milliseconds'
        ELSE i.rank_at END,
      idle_status = CASE WHEN w.released OR w.settled THEN CASE WHEN w.status <> 'running' AND w.terminal IS NOT TRUE THEN w.status END ELSE i.idle_status END,
      updated_at = now(),
      finished_at = CASE WHEN w.terminal THEN coalesce(i.finished_at, now()) END
    FROM (SELECT :SAGA_GIVEN_ONE WHERE w_id IS NOT NULL) AS w
    WHERE i.id = w.id AND i.epoch = w.epoch AND i.checkpoints < w.number AND (i.cancel_requested_at IS NULL OR w.cancel_seen)
      AND (NOT i.pause_requested OR w.pause_seen) 
    RETURNING i.id, CASE WHEN i.watched AND w.settled THEN pg_notify(:CHANNEL, 'settled:' || i.id) END,
      CASE WHEN i.woken AND w.released AND w.settled IS NOT TRUE THEN pg_notify(:CHANNEL, 'due') END
  )
  SELECT coalesce(array_agg(updated.id), '{}') INTO saved FROM updated;

  IF fresh THEN
    INSERT INTO saga.step AS s (saga_id, name, :STATE_COLUMNS,
      progress, started_at, updated_at)
    SELECT c.saga_id, c.name, :STATE_WRITTEN,
      c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM (SELECT :STEP_GIVEN_ONE WHERE c_saga_id IS NOT NULL) AS c
    WHERE cardinality(saved) = 1 OR c.saga_id = ANY(saved);
  ELSE
    INSERT INTO saga.step AS s (saga_id, name, :STATE_COLUMNS,
      progress, started_at, updated_at)
    SELECT c.saga_id, c.name, :STATE_WRITTEN,
      c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM (SELECT :STEP_GIVEN_ONE WHERE c_saga_id IS NOT NULL) AS c
    WHERE cardinality(saved) = 1 OR c.saga_id = ANY(saved)
    ON CONFLICT (saga_id, name) DO UPDATE SET
      :STATE_UPDATES,
      progress = excluded.progress,
      updated_at = excluded.updated_at;
  END IF;

  RETURN saved;
END $function$` as string,
  },
  claim_keyed: {
    folder: 'schema/functions',
    parameters: [],
    values: ['CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.claim_keyed(text[], int[], int[], text[], int[], int, text, float8)
RETURNS TABLE (taken uuid[], epochs int[], clock float8, next_due_at float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  limited record;
  slots record;
  fenced uuid[];
  kept uuid[];
  came_free text[];
  held_keys text[];
  held_counts int[];
  due_keys text[];
  due_count int;
  keys text[];
  full_keys text[];
  per_key int;
  ids uuid[] := '{}';
  ranks timestamptz[] := '{}';
  names text[] := '{}';
  turns text[] := '{}';
  own_ids uuid[];
  own_ranks timestamptz[];
  own_turns text[];
  looked record;
  looked_at jsonb := '[]';
  given uuid[];
  has_due_left boolean;
  is_crowded boolean;
  is_announced boolean := false;
  next_key text;
  next timestamptz;
BEGIN
  taken := '{}';
  epochs := '{}';
  FOR limited IN
    SELECT w.name, min(w.slots) AS slots, array_agg(w.version) AS versions
    FROM unnest($1, $2, $3) AS w(name, version, slots) GROUP BY w.name ORDER BY w.name
  LOOP
    SELECT c.crowded INTO is_crowded FROM saga.saga_limit c WHERE c.saga = limited.name;
    CONTINUE WHEN is_crowded IS NOT TRUE AND NOT EXISTS (SELECT FROM unnest(limited.versions) AS v(version)
      CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment LIMIT 1) d);
    INSERT INTO saga.saga_limit (saga) VALUES (limited.name) ON CONFLICT DO NOTHING;
    SELECT c.holders, c.crowded, coalesce(c.last_key, '') AS last_key INTO slots
    FROM saga.saga_limit c WHERE c.saga = limited.name FOR NO KEY UPDATE;
    moment := clock_timestamp();
    WITH lapsed AS (
      UPDATE saga.instance i SET epoch = i.epoch + 1
      WHERE i.id = ANY(ARRAY(
        SELECT h.id FROM saga.instance h
        WHERE h.id = ANY(slots.holders) AND h.locked_by IS NOT NULL AND h.due_at <= moment
        FOR NO KEY UPDATE SKIP LOCKED))
      RETURNING i.id
    )
    SELECT coalesce(array_agg(l.id), '{}') INTO fenced FROM lapsed l;
    SELECT coalesce(array_agg(h.id) FILTER (WHERE h.stays), '{}'),
      coalesce(array_agg(DISTINCT h.key) FILTER (WHERE NOT h.stays), '{}')
    INTO kept, came_free FROM (
      SELECT i.id, coalesce(i.limit_key, '') AS key,
        i.locked_by IS NOT NULL AND i.due_at IS NOT NULL AND i.id <> ALL(fenced) AS stays
      FROM saga.instance i WHERE i.id = ANY(slots.holders)) h;
    SELECT coalesce(array_agg(h.key), '{}'), coalesce(array_agg(h.taken), '{}') INTO held_keys, held_counts FROM (
      SELECT coalesce(i.limit_key, '') AS key, count(*)::int AS taken
      FROM saga.instance i WHERE i.id = ANY(kept) GROUP BY 1) h;
    full_keys := ARRAY(SELECT h.key FROM unnest(held_keys, held_counts) AS h(key, taken) WHERE h.taken >= limited.slots);

    SELECT coalesce(array_agg(DISTINCT d.key), '{}'), count(*) INTO due_keys, due_count FROM unnest(limited.versions) AS v(version)
    CROSS JOIN LATERAL (
      SELECT coalesce(i.limit_key, '') AS key FROM saga.instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment ORDER BY i.rank_at LIMIT 500) d;
    keys := ARRAY(SELECT k.key FROM unnest(due_keys) AS k(key) WHERE k.key <> ALL(full_keys)
      ORDER BY k.key <= slots.last_key, k.key);
    next_key := NULL;
    IF due_count >= 500 THEN
      SELECT coalesce(array_agg(r.key ORDER BY r.lap, r.key) FILTER (WHERE r.key <> ALL(full_keys) AND r.is_due), '{}'),
        CASE WHEN count(*) >= 1000 THEN (array_agg(r.key ORDER BY r.lap DESC, r.key DESC))[1] END
      INTO keys, next_key FROM (
        WITH RECURSIVE ring(lap, key) AS (
          SELECT 0, slots.last_key
          UNION ALL
          SELECT CASE WHEN n.key IS NULL THEN r.lap + 1 ELSE r.lap END, coalesce(n.key, '')
          FROM ring r CROSS JOIN LATERAL (SELECT (
            SELECT k.limit_key FROM unnest(limited.versions) AS v(version) CROSS JOIN LATERAL (
              SELECT i.limit_key FROM saga.instance i
              WHERE i.name = limited.name AND i.version = v.version AND i.limit_key > r.key AND i.rank_at IS NOT NULL
              ORDER BY i.limit_key LIMIT 1) k
            ORDER BY k.limit_key LIMIT 1) AS key) n
          WHERE r.lap < 2 AND (r.lap = 0 OR coalesce(n.key, '') <= slots.last_key)
        )
        SELECT r.lap, r.key, EXISTS (SELECT FROM unnest(limited.versions) AS v(version)
          CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment AND i.limit_key = r.key LIMIT 1) d) AS is_due
        FROM (SELECT DISTINCT ON (l.lap, l.key) l.lap, l.key FROM (SELECT * FROM ring WHERE key <> '' LIMIT 1000) l
          WHERE l.lap > 0 OR l.key > slots.last_key) r) r;
      IF '' = ANY(due_keys) AND '' <> ALL(full_keys) THEN keys := keys || ''::text; END IF;
    END IF;

    per_key := ceil(greatest(2000, 4 * $6)::float8 / greatest(1, cardinality(keys)));
    SELECT coalesce(array_agg(c.id ORDER BY c.turn), '{}'), coalesce(array_agg(c.rank_at ORDER BY c.rank_at), '{}'),
      coalesce(array_agg(c.key ORDER BY c.turn), '{}')
    INTO own_ids, own_ranks, own_turns FROM (
      SELECT m.*, row_number() OVER (ORDER BY m.place, m.turn_of_key) AS turn FROM (
        SELECT d.id, d.rank_at, k.key, k.turn_of_key,
          k.held + row_number() OVER (PARTITION BY k.key ORDER BY d.rank_at) AS place
        FROM (SELECT w.key, w.turn_of_key, coalesce(held_counts[array_position(held_keys, w.key)], 0) AS held
          FROM unnest(keys) WITH ORDINALITY AS w(key, turn_of_key)) k
        CROSS JOIN unnest(limited.versions) AS v(version)
        CROSS JOIN LATERAL (
          (SELECT i.id, i.rank_at FROM saga.instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment AND i.limit_key = k.key
            ORDER BY i.rank_at LIMIT least(limited.slots - k.held, per_key))
          UNION ALL
          (SELECT n.id, n.rank_at FROM (
              SELECT i.id, i.rank_at, i.limit_key FROM saga.instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment AND k.key = ''
              ORDER BY i.rank_at LIMIT 500) n
            WHERE n.limit_key IS NULL ORDER BY n.rank_at LIMIT least(limited.slots - k.held, per_key))) d) m
      WHERE m.place <= limited.slots ORDER BY m.place, m.turn_of_key LIMIT $6) c;
    ids := ids || own_ids;
    ranks := ranks || own_ranks;
    turns := turns || own_turns;
    names := names || array_fill(limited.name, ARRAY[cardinality(own_ids)]);
    looked_at := looked_at || jsonb_build_object('name', limited.name, 'slots', limited.slots, 'versions', to_jsonb(limited.versions),
      'kept', to_jsonb(kept), 'changed', cardinality(kept) < cardinality(slots.holders), 'came_free', to_jsonb(came_free),
      'crowded', slots.crowded, 'last_key', slots.last_key, 'next_key', next_key, 'held_keys', to_jsonb(held_keys),
      'held_counts', to_jsonb(held_counts));
  END LOOP;

  WITH due AS (
    SELECT a.id FROM (
      SELECT c.id, c.rank_at, true AS limited FROM unnest(ids, ranks) AS c(id, rank_at)
      UNION ALL
      SELECT p.id, p.rank_at, false FROM unnest($4, $5) AS v(name, version) CROSS JOIN LATERAL (
        SELECT i.id, i.rank_at FROM saga.instance i
        WHERE i.name = v.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment AND cardinality(ids) > 0
        ORDER BY i.rank_at LIMIT $6) p
      ORDER BY rank_at LIMIT $6) a
    WHERE a.limited
  ), free AS MATERIALIZED (
    SELECT i.id FROM saga.instance i WHERE i.id = ANY(ARRAY(SELECT id FROM due)) AND i.rank_at <= moment AND i.due_at <= moment
    FOR UPDATE SKIP LOCKED
  ), leased AS (
    UPDATE saga.instance i SET epoch = i.epoch + 1,
    takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    locked_by = $7,
    leased_at = moment,
    lost_leases = CASE WHEN i.locked_by IS NULL THEN i.lost_leases ELSE
      CASE WHEN i.takeovers = 0 OR i.lost_leases IS NULL THEN '[]'::jsonb
        WHEN jsonb_array_length(i.lost_leases) >= 5 THEN i.lost_leases - 0
        ELSE i.lost_leases END
      || jsonb_build_array(jsonb_build_object('worker', i.locked_by, 'from', (extract(epoch FROM coalesce(i.leased_at, i.created_at)) * 1000)::float8,
        'until', (extract(epoch FROM i.due_at) * 1000)::float8, 'takenOver', (extract(epoch FROM moment) * 1000)::float8)) END,
    woken = false,
    starts_at = CASE WHEN i.starts_at > moment THEN i.starts_at END,
    due_at = moment + $8 * interval '1 millisecond',
    rank_at = moment + $8 * interval '1 millisecond'
    WHERE i.id = ANY(ARRAY(SELECT id FROM free))
    RETURNING i.id, i.epoch
  )
  SELECT coalesce(array_agg(l.id ORDER BY array_position(ids, l.id)), '{}'),
    coalesce(array_agg(l.epoch ORDER BY array_position(ids, l.id)), '{}')
  INTO taken, epochs FROM leased l;

  next := NULL;
  FOR looked IN
    SELECT l.name, l.slots, l.versions, l.kept, l.changed, l.came_free, l.crowded, l.last_key, l.next_key, l.held_keys, l.held_counts
    FROM jsonb_to_recordset(looked_at) AS l(name text, slots int, versions int[], kept uuid[], changed boolean, came_free text[],
      crowded boolean, last_key text, next_key text, held_keys text[], held_counts int[])
  LOOP
    given := ARRAY(SELECT c.id FROM unnest(ids, names) AS c(id, name) WHERE c.name = looked.name AND c.id = ANY(taken));
    has_due_left := EXISTS (SELECT FROM unnest(looked.versions) AS v(version)
      CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE i.name = looked.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment LIMIT 1) d);
    is_crowded := looked.crowded;
    IF looked.crowded AND EXISTS (SELECT FROM unnest(looked.came_free) AS f(key)
        WHERE coalesce(looked.held_counts[array_position(looked.held_keys, f.key)], 0) + (
          SELECT count(*) FROM unnest(ids, turns) AS c(id, key) WHERE c.key = f.key AND c.id = ANY(given)) < looked.slots) THEN
      is_crowded := false;
      is_announced := true;
    ELSIF has_due_left THEN
      is_crowded := true;
    END IF;
    next_key := coalesce((SELECT c.key FROM unnest(ids, turns) WITH ORDINALITY AS c(id, key, n)
      WHERE c.id = ANY(given) ORDER BY c.n DESC LIMIT 1), looked.next_key, looked.last_key);
    UPDATE saga.saga_limit c SET holders = looked.kept || given, crowded = is_crowded, last_key = next_key
    WHERE c.saga = looked.name
      AND (looked.changed OR cardinality(given) > 0 OR c.crowded <> is_crowded OR next_key <> looked.last_key);
    next := least(next,
      CASE WHEN has_due_left AND looked.next_key IS NOT NULL THEN moment + 200 * interval '1 millisecond' END,
      CASE WHEN has_due_left AND (cardinality(taken) >= $6
        OR cardinality(given) < (SELECT count(*) FROM unnest(names) AS n(name) WHERE n.name = looked.name)) THEN moment END,
      CASE WHEN has_due_left THEN (SELECT min(i.due_at) FROM saga.instance i
        WHERE i.id = ANY(looked.kept || given) AND i.locked_by IS NOT NULL) END);
  END LOOP;
  IF is_announced THEN PERFORM pg_notify(:CHANNEL, 'due'); END IF;

  clock := extract(epoch FROM moment) * 1000;
  next_due_at := extract(epoch FROM least(next, (
    SELECT min(a.due_at) FROM unnest($1, $2) AS w(name, version) CROSS JOIN LATERAL (
      (SELECT i.id, i.due_at FROM saga.instance i
        WHERE i.name = w.name AND i.version = w.version AND i.rank_at IS NOT NULL
        ORDER BY i.rank_at LIMIT 50)
      UNION ALL
      (SELECT i.id, i.due_at FROM saga.instance i
        WHERE i.name = w.name AND i.version = w.version AND i.rank_at > moment
        ORDER BY i.rank_at LIMIT $6 + 50)) a
    WHERE a.due_at > moment AND a.id <> ALL(taken)))) * 1000;
  RETURN NEXT;
END $function$` as string,
  },
  slots_taken: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.slots_taken(text, text) RETURNS int LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  RETURN (SELECT count(*) FROM saga.instance i
    WHERE i.id = ANY(ARRAY(SELECT unnest(c.holders) FROM saga.saga_limit c WHERE c.saga = $1))
      AND ($2 IS NULL OR i.limit_key = $2) AND i.locked_by IS NOT NULL AND i.due_at > clock_timestamp());
END $function$` as string,
  },
  claim_limited: {
    folder: 'schema/functions',
    parameters: [],
    values: ['CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.claim_limited(text[], int[], int[], text[], int[], int, text, float8)
RETURNS TABLE (taken uuid[], epochs int[], clock float8, next_due_at float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  asked text[];
  limits int[];
  left_over int[] := '{}';
  came_free int[] := '{}';
  crowd boolean[] := '{}';
  full_names text[];
  fenced uuid[];
  kept uuid[];
  given uuid[];
  has_free_slot boolean;
  slots record;
BEGIN
  SELECT coalesce(array_agg(l.name ORDER BY l.name) FILTER (WHERE l.ask), '{}'),
    coalesce(array_agg(l.slots ORDER BY l.name) FILTER (WHERE l.ask), '{}'),
    coalesce(array_agg(l.name) FILTER (WHERE l.crowded AND NOT l.ask), '{}')
  INTO asked, limits, full_names FROM (
    SELECT n.name, n.slots, c.crowded, CASE
        WHEN c.crowded THEN saga.slots_taken(n.name, NULL) < n.slots
        ELSE EXISTS (SELECT FROM (SELECT n.name, v.version FROM unnest(n.versions) AS v(version)) w
          CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment LIMIT 1) d)
      END AS ask
    FROM (SELECT w.name, min(w.slots) AS slots, array_agg(w.version) AS versions
      FROM unnest($1, $2, $3) AS w(name, version, slots) GROUP BY w.name) n
    LEFT JOIN saga.saga_limit c ON c.saga = n.name) l;
  taken := '{}';
  epochs := '{}';

  IF cardinality(asked) > 0 THEN
    INSERT INTO saga.saga_limit (saga) SELECT unnest(asked) ON CONFLICT DO NOTHING;
    PERFORM FROM saga.saga_limit c WHERE c.saga = ANY(asked) ORDER BY c.saga FOR NO KEY UPDATE;
    moment := clock_timestamp();

    WITH lapsed AS (
      UPDATE saga.instance i SET epoch = i.epoch + 1
      WHERE i.id = ANY(ARRAY(
        SELECT h.id FROM saga.instance h
        WHERE h.id = ANY(ARRAY(SELECT unnest(c.holders) FROM saga.saga_limit c WHERE c.saga = ANY(asked)))
          AND h.locked_by IS NOT NULL AND h.due_at <= moment
        FOR NO KEY UPDATE SKIP LOCKED))
      RETURNING i.id
    )
    SELECT coalesce(array_agg(l.id), '{}') INTO fenced FROM lapsed l;

    FOR n IN 1..cardinality(asked) LOOP
      SELECT c.holders, c.crowded INTO slots FROM saga.saga_limit c WHERE c.saga = asked[n];
      kept := ARRAY(SELECT i.id FROM saga.instance i
        WHERE i.id = ANY(slots.holders) AND i.locked_by IS NOT NULL AND i.due_at IS NOT NULL AND i.id <> ALL(fenced));
      left_over := left_over || greatest(0, limits[n] - cardinality(kept));
      came_free := came_free || cardinality(slots.holders) - cardinality(kept);
      crowd := crowd || slots.crowded;
      IF came_free[n] > 0 THEN
        UPDATE saga.saga_limit c SET holders = kept WHERE c.saga = asked[n];
      END IF;
    END LOOP;

    WITH candidates AS (
      SELECT m.id, m.epoch, m.rank_at, true AS limited FROM (
        SELECT d.*, o.free, row_number() OVER (PARTITION BY w.name ORDER BY d.rank_at) AS place
        FROM unnest(asked, left_over) AS o(name, free)
        JOIN unnest($1, $2) AS w(name, version) ON w.name = o.name
        CROSS JOIN LATERAL (
          SELECT i.id, i.epoch, i.rank_at FROM saga.instance i WHERE i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment
          ORDER BY i.rank_at LIMIT least(o.free, $6) FOR UPDATE SKIP LOCKED) d) m
      WHERE m.place <= m.free
      UNION ALL
      SELECT p.id, p.epoch, p.rank_at, false FROM unnest($4, $5) AS w(name, version)
      CROSS JOIN LATERAL (
        SELECT i.id, i.epoch, i.rank_at FROM saga.instance i WHERE i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment ORDER BY i.rank_at LIMIT $6) p
    ), due AS (
      SELECT * FROM candidates ORDER BY rank_at LIMIT $6
    ), leased AS (
      UPDATE saga.instance i SET epoch = i.epoch + 1,
    takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    locked_by = $7,
    leased_at = moment,
    lost_leases = CASE WHEN i.locked_by IS NULL THEN i.lost_leases ELSE
      CASE WHEN i.takeovers = 0 OR i.lost_leases IS NULL THEN '[]'::jsonb
        WHEN jsonb_array_length(i.lost_leases) >= 5 THEN i.lost_leases - 0
        ELSE i.lost_leases END
      || jsonb_build_array(jsonb_build_object('worker', i.locked_by, 'from', (extract(epoch FROM coalesce(i.leased_at, i.created_at)) * 1000)::float8,
        'until', (extract(epoch FROM i.due_at) * 1000)::float8, 'takenOver', (extract(epoch FROM moment) * 1000)::float8)) END,
    woken = false,
    starts_at = CASE WHEN i.starts_at > moment THEN i.starts_at END,
    due_at = moment + $8 * interval '1 millisecond',
    rank_at = moment + $8 * interval '1 millisecond'
      WHERE i.id = ANY(ARRAY(SELECT id FROM due WHERE limited))
    )
    SELECT coalesce(array_agg(due.id ORDER BY due.rank_at), '{}'), coalesce(array_agg(due.epoch + 1 ORDER BY due.rank_at), '{}')
    INTO taken, epochs FROM due WHERE due.limited;

    FOR n IN 1..cardinality(asked) LOOP
      given := ARRAY(SELECT i.id FROM saga.instance i WHERE i.id = ANY(taken) AND i.name = asked[n]);
      has_free_slot := left_over[n] > cardinality(given);
      IF NOT has_free_slot AND EXISTS (SELECT FROM unnest($1, $2) AS w(name, version)
          CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment LIMIT 1) d WHERE w.name = asked[n]) THEN
        full_names := full_names || asked[n];
        crowd[n] := true;
      ELSIF has_free_slot AND crowd[n] AND came_free[n] > 0 THEN
        crowd[n] := false;
        PERFORM pg_notify(:CHANNEL, 'due');
      END IF;
      UPDATE saga.saga_limit c SET holders = c.holders || given, crowded = crowd[n]
      WHERE c.saga = asked[n] AND (c.crowded <> crowd[n] OR cardinality(given) > 0);
    END LOOP;
  END IF;

  clock := extract(epoch FROM moment) * 1000;
  next_due_at := extract(epoch FROM least(
    (SELECT min(a.due_at) FROM unnest($1, $2) AS w(name, version) CROSS JOIN LATERAL (
        SELECT i.id, i.due_at FROM saga.instance i
        WHERE i.name = w.name AND i.version = w.version AND i.rank_at IS NOT NULL
        ORDER BY i.rank_at LIMIT $6 + 50) a
      WHERE a.id <> ALL(taken) AND (a.due_at > moment OR w.name <> ALL(full_names))),
    (SELECT min(i.due_at) FROM saga.instance i
      WHERE i.locked_by IS NOT NULL AND i.id = ANY(ARRAY(
        SELECT unnest(c.holders) FROM saga.saga_limit c WHERE c.saga = ANY(full_names)))))) * 1000;
  RETURN NEXT;
END $function$` as string,
  },
  claim: {
    folder: 'schema/functions',
    parameters: [],
    values: ['STORED_TYPES', 'STORED_FIELDS', 'STEP_FIELDS_JSON'],
    text: `CREATE OR REPLACE FUNCTION saga.claim(text[], int[], int, text, float8, bigint, bigint, boolean, float8)
RETURNS TABLE (now float8, next_due_at float8, heavy int, last float8, :STORED_TYPES, "inParts" boolean, steps json, signals json) LANGUAGE plpgsql ROWS 10
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
#variable_conflict use_column
DECLARE
  place timestamptz := coalesce(to_timestamp($9 / 1000), '-infinity');
  due record;
  least_id uuid;
BEGIN
  SELECT * INTO due FROM saga.due($1, $2, $3, $6, $7, $8, place);
  now := extract(epoch FROM now()) * 1000;
  next_due_at := (SELECT extract(epoch FROM min(n.due_at)) * 1000 FROM saga.upcoming($1, $2, $3 + 50, place) n
    WHERE n.id NOT IN (SELECT unnest(due.ids || due.heavy)));
  heavy := cardinality(due.heavy);
  last := extract(epoch FROM due.last) * 1000;
  RETURN NEXT;
  IF cardinality(due.ids) = 0 THEN
    RETURN;
  END IF;
  least_id := (SELECT u.id FROM unnest(due.ids) u(id) ORDER BY u.id LIMIT 1);
  UPDATE saga.instance i SET epoch = i.epoch + 1,
    takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    locked_by = $4,
    leased_at = now(),
    lost_leases = CASE WHEN i.locked_by IS NULL THEN i.lost_leases ELSE
      CASE WHEN i.takeovers = 0 OR i.lost_leases IS NULL THEN '[]'::jsonb
        WHEN jsonb_array_length(i.lost_leases) >= 5 THEN i.lost_leases - 0
        ELSE i.lost_leases END
      || jsonb_build_array(jsonb_build_object('worker', i.locked_by, 'from', (extract(epoch FROM coalesce(i.leased_at, i.created_at)) * 1000)::float8,
        'until', (extract(epoch FROM i.due_at) * 1000)::float8, 'takenOver', (extract(epoch FROM now()) * 1000)::float8)) END,
    woken = false,
    starts_at = CASE WHEN i.starts_at > now() THEN i.starts_at END,
    due_at = now() + $5 * interval '1 millisecond',
    rank_at = now() + $5 * interval '1 millisecond'
  WHERE i.id = ANY(due.ids) AND i.id >= least_id;
  RETURN QUERY SELECT NULL::float8, NULL::float8, NULL::int, NULL::float8,
  :STORED_FIELDS, coalesce(i.id = due.in_parts, false) AS "inParts",
  CASE WHEN i.id = due.in_parts THEN NULL ELSE (SELECT json_agg(json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8, 'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8))
    FROM saga.step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN i.id = due.in_parts THEN NULL ELSE CASE WHEN i.signals > 0 THEN (SELECT json_agg(json_build_object('number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text,
  'at', (extract(epoch FROM g.sent_at) * 1000)::float8) ORDER BY g.number)
    FROM saga.signal g
    WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END END AS signals
  FROM unnest(due.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM saga.instance h WHERE h.id = w.id AND h.id >= least_id LIMIT 1) i
  ORDER BY w.place;
END $function$` as string,
  },
  cleanup: {
    folder: 'schema/functions',
    parameters: [],
    values: ['SCHEMA', 'DELETION_KNOWN_FOR', 'DELETE_BELONGINGS'],
    text: `CREATE OR REPLACE FUNCTION saga.cleanup(text, float8, timestamptz, uuid, int, boolean, boolean)
RETURNS TABLE (looked int, gone int, place text, place_id uuid) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  roots uuid[];
  times timestamptz[];
  family uuid[];
  tops uuid[];
  free uuid[];
  kept uuid[];
BEGIN
  IF $7 AND NOT pg_try_advisory_xact_lock(1735356005, hashtext($q$:SCHEMA$q$)) THEN
    RETURN;
  END IF;
  IF $6 THEN
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (SELECT i.id, i.finished_at FROM saga.instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5) o;
  ELSE
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (SELECT i.id, i.finished_at FROM saga.instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5 FOR UPDATE SKIP LOCKED) o;
  END IF;
  IF NOT $6 THEN
    DELETE FROM saga.deleted d WHERE d.id = ANY (ARRAY(
      SELECT o.id FROM saga.deleted o WHERE o.at < now() - :DELETION_KNOWN_FOR * interval '1 millisecond' ORDER BY o.at LIMIT 2 * $5 FOR UPDATE SKIP LOCKED));
  END IF;
  looked := coalesce(cardinality(roots), 0);
  gone := 0;
  IF looked > 0 THEN
    place := times[looked]::text;
    place_id := roots[looked];
    WITH RECURSIVE f AS (
      SELECT r.id, r.id AS top FROM unnest(roots) AS r(id)
      UNION ALL
      SELECT c.id, f.top FROM f JOIN saga.instance c ON c.parent_id = f.id
    )
    SELECT array_agg(f.id), array_agg(f.top) INTO family, tops FROM f;
    IF $6 THEN
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM saga.instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL) e;
    ELSE
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM saga.instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL FOR UPDATE SKIP LOCKED) e;
    END IF;
    IF cardinality(free) < cardinality(family) THEN
      SELECT array_agg(w.top) INTO kept FROM unnest(family, tops) AS w(id, top) WHERE w.id <> ALL(free);
      SELECT array_agg(w.id) INTO family FROM unnest(family, tops) AS w(id, top) WHERE w.top <> ALL(kept);
    END IF;
    gone := coalesce(cardinality(family), 0);
    IF NOT $6 AND gone > 0 THEN
      INSERT INTO saga.deleted (id) SELECT i.id FROM saga.instance i
      WHERE i.id = ANY(family) AND i.finished_at > now() - :DELETION_KNOWN_FOR * interval '1 millisecond' ON CONFLICT (id) DO UPDATE SET at = now();
      :DELETE_BELONGINGS
      
      DELETE FROM saga.instance i WHERE i.id = ANY(family);
    END IF;
  END IF;
  RETURN NEXT;
END $function$` as string,
  },
  due: {
    folder: 'schema/functions',
    parameters: [],
    values: ['SMALL_SAGA'],
    text: `CREATE OR REPLACE FUNCTION saga.due(text[], int[], int, bigint, bigint, boolean, timestamptz,
  OUT ids uuid[], OUT heavy uuid[], OUT in_parts uuid, OUT last timestamptz) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  picked uuid[];
  candidate uuid;
  size bigint;
  small bigint := 0;
  large bigint := 0;
BEGIN
  heavy := '{}';
  picked := ARRAY(
    SELECT c.id FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
      SELECT i.id, i.rank_at FROM saga.instance i
      WHERE i.name = d.name AND i.version = d.version AND i.rank_at >= $7 AND i.rank_at <= now() AND i.due_at <= now()
      ORDER BY i.rank_at LIMIT $3 FOR UPDATE SKIP LOCKED) c
    ORDER BY c.rank_at LIMIT $3);
  ids := picked;
  IF cardinality(picked) = 0 THEN RETURN; END IF;
  IF saga.bytes_at_most(picked) <= least($4, $5) THEN
    SELECT i.rank_at INTO last FROM saga.instance i WHERE i.id = picked[cardinality(picked)];
    RETURN;
  END IF;
  ids := '{}';
  FOREACH candidate IN ARRAY picked LOOP
    size := saga.bytes(candidate, greatest(:SMALL_SAGA + 1,
      CASE WHEN cardinality(heavy) > 0 THEN 0 WHEN large = 0 THEN greatest($4, $5) + 1 ELSE least($4, $5) - large + 1 END));
    IF size <= :SMALL_SAGA THEN
      small := small + size;
      EXIT WHEN small > $4;
      ids := ids || candidate;
    ELSIF cardinality(heavy) = 0 AND (large + size <= least($4, $5) OR (large = 0 AND (size <= $5 OR $6))) THEN
      large := large + size;
      ids := ids || candidate;
      IF size > $4 THEN in_parts := candidate; END IF;
    ELSE
      heavy := heavy || candidate;
    END IF;
  END LOOP;
  IF cardinality(heavy) > 0 AND cardinality(picked) >= $3 AND small <= $4 THEN
    FOR candidate IN
      SELECT c.id FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
        SELECT i.id, i.rank_at FROM saga.instance i
        WHERE i.name = d.name AND i.version = d.version AND i.rank_at >= $7 AND i.rank_at <= now() AND i.due_at <= now() ORDER BY i.rank_at LIMIT $3 + 1000) c
      WHERE c.id <> ALL(picked) ORDER BY c.rank_at
    LOOP
      EXIT WHEN cardinality(ids) >= $3;
      size := saga.bytes(candidate, :SMALL_SAGA + 1);
      CONTINUE WHEN size > :SMALL_SAGA;
      small := small + size;
      EXIT WHEN small > $4;
      PERFORM FROM saga.instance i WHERE i.id = candidate AND i.rank_at <= now() AND i.due_at <= now()
        FOR UPDATE SKIP LOCKED;
      IF FOUND THEN ids := ids || candidate; END IF;
    END LOOP;
  END IF;
END $function$` as string,
  },
  upcoming: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.upcoming(text[], int[], int, timestamptz)
RETURNS TABLE (id uuid, due_at timestamptz) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  RETURN QUERY SELECT n.id, n.due_at FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
    SELECT i.id, i.due_at FROM saga.instance i
    WHERE i.name = d.name AND i.version = d.version AND i.rank_at >= $4
    ORDER BY i.rank_at LIMIT $3) n;
END $function$` as string,
  },
  catch_up: {
    folder: 'schema/functions',
    parameters: [],
    values: ['PRIORITY_POINT_MS'],
    text: `CREATE OR REPLACE FUNCTION saga.catch_up(text[], int[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  UPDATE saga.instance u SET due_at = now(), rank_at = now() - u.priority * interval ':PRIORITY_POINT_MS milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM unnest($1, $2) AS d(name, version)
    JOIN saga.instance i ON i.name = d.name AND i.version = d.version AND i.rank_at IS NOT NULL
    WHERE i.due_at > now() AND i.locked_by IS NULL AND (i.woken OR i.due_at <= i.updated_at)
    ORDER BY i.id FOR NO KEY UPDATE OF i));
END $function$` as string,
  },
  family_locks: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.family_locks(uuid)
RETURNS TABLE (holder uuid, holder_name text, holder_key text) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  RETURN QUERY WITH RECURSIVE up AS (
    SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM saga.instance i
    WHERE i.id = $1 AND i.status NOT IN ('compensated', 'aborted')
    UNION ALL
    SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM up
    JOIN saga.instance i ON i.id = up.parent_id WHERE i.status NOT IN ('compensated', 'aborted')
  )
  SELECT up.id, up.name, up.lock_key FROM up WHERE up.lock_state IN ('held', 'inside');
END $function$` as string,
  },
  look_again: {
    folder: 'schema/functions',
    parameters: [],
    values: ['PRIORITY_POINT_MS', 'CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.look_again(uuid) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  WITH RECURSIVE down AS (
    SELECT c.id FROM saga.instance c WHERE c.parent_id = $1 AND c.status NOT IN ('compensated', 'aborted')
    UNION ALL
    SELECT c.id FROM down JOIN saga.instance c ON c.parent_id = down.id WHERE c.status NOT IN ('compensated', 'aborted')
  )
  UPDATE saga.instance i SET
    due_at = now(), rank_at = now() - i.priority * interval ':PRIORITY_POINT_MS milliseconds'
  FROM down WHERE i.id = down.id AND coalesce(i.lock_state, '') = 'waiting' AND i.locked_by IS NULL AND i.status <> 'paused';
  IF FOUND THEN PERFORM pg_notify(:CHANNEL, 'due'); END IF;
END $function$` as string,
  },
  lock_families: {
    folder: 'schema/functions',
    parameters: [],
    values: ['SCHEMA'],
    text: `CREATE OR REPLACE FUNCTION saga.lock_families(uuid[], int[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  PERFORM FROM unnest($1, $2) AS w(id, epoch)
  JOIN saga.instance i ON i.id = w.id AND i.epoch = w.epoch
  WHERE coalesce(i.lock_state, '') IN ('arriving', 'waiting')
    AND CASE WHEN i.parent_id IS NULL THEN false ELSE EXISTS (SELECT FROM saga.family_locks(i.parent_id)) END
  LIMIT 1;
  IF FOUND THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('families', hashtext($q$:SCHEMA$q$)));
  END IF;
END $function$` as string,
  },
  break_circle: {
    folder: 'schema/functions',
    parameters: [],
    values: ['PRIORITY_POINT_MS', 'CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.break_circle(uuid) RETURNS json LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  own record;
  kin uuid[];
  reached uuid[];
  waiters uuid[];
  circle json;
BEGIN
  SELECT i.id, i.name, i.lock_key, i.parent_id, i.status INTO own FROM saga.instance i WHERE i.id = $1;
  kin := ARRAY(SELECT f.holder FROM saga.family_locks(own.parent_id) f);
  IF cardinality(kin) = 0 THEN RETURN NULL; END IF;
  WITH RECURSIVE reach AS (
    SELECT s.id FROM (SELECT h.id FROM saga.instance h
      WHERE h.name = own.name AND h.lock_key = own.lock_key AND h.lock_state = 'held'
      UNION ALL
      SELECT h.id FROM saga.instance h
      WHERE h.name = own.name AND h.lock_key = own.lock_key AND h.lock_state = 'inside') s
    UNION
    SELECT n.id FROM reach r CROSS JOIN LATERAL (
      SELECT c.id FROM saga.instance c WHERE c.parent_id = r.id AND c.status NOT IN ('compensated', 'aborted')
      UNION ALL
      SELECT s.id FROM saga.instance w CROSS JOIN LATERAL (SELECT h.id FROM saga.instance h
      WHERE h.name = w.name AND h.lock_key = w.lock_key AND h.lock_state = 'held'
      UNION ALL
      SELECT h.id FROM saga.instance h
      WHERE h.name = w.name AND h.lock_key = w.lock_key AND h.lock_state = 'inside') s
      WHERE w.id = r.id AND coalesce(w.lock_state, '') = 'waiting'
    ) n WHERE r.id <> ALL(kin)
  )
  SELECT array_agg(reach.id) INTO reached FROM reach;
  circle := (
    SELECT json_build_object('key', own.lock_key, 'holder', json_build_object('id', h.id, 'name', h.name),
      'held', json_build_object('id', f.holder, 'name', f.holder_name, 'key', f.holder_key))
    FROM saga.family_locks(own.parent_id) f, saga.instance h
    WHERE f.holder = ANY(reached) AND h.name = own.name AND h.lock_key = own.lock_key AND h.lock_state = 'held' LIMIT 1);
  IF circle IS NULL OR own.status = 'running' THEN RETURN circle; END IF;
  PERFORM FROM saga.instance i
    WHERE i.id = ANY(reached) AND coalesce(i.lock_state, '') = 'waiting' AND EXISTS (
      SELECT FROM saga.family_locks(own.parent_id) f WHERE f.holder_name = i.name AND f.holder_key = i.lock_key) AND NOT (i.status = 'running' OR (i.status = 'paused' AND i.held_phase = 'running'));
  IF FOUND THEN RETURN circle; END IF;
  waiters := ARRAY(SELECT i.id FROM saga.instance i
    WHERE i.id = ANY(reached) AND coalesce(i.lock_state, '') = 'waiting' AND EXISTS (
      SELECT FROM saga.family_locks(own.parent_id) f WHERE f.holder_name = i.name AND f.holder_key = i.lock_key) ORDER BY i.id);
  UPDATE saga.instance i SET
    lock_state = NULL,
    lock_deadlock = (
    SELECT json_build_object('key', i.lock_key, 'holder', json_build_object('id', h.id, 'name', h.name),
      'held', json_build_object('id', f.holder, 'name', f.holder_name, 'key', f.holder_key))
    FROM saga.family_locks(i.parent_id) f, saga.instance h
    WHERE f.holder = ANY(reached) AND h.name = i.name AND h.lock_key = i.lock_key AND h.lock_state = 'held' LIMIT 1),
    due_at = CASE WHEN i.status = 'paused' OR i.locked_by IS NOT NULL THEN i.due_at ELSE now() END,
      rank_at = CASE WHEN i.status = 'paused' OR i.locked_by IS NOT NULL THEN i.rank_at
        ELSE now() - i.priority * interval ':PRIORITY_POINT_MS milliseconds' END
  WHERE i.id = ANY(waiters) AND coalesce(i.lock_state, '') = 'waiting';
  PERFORM pg_notify(:CHANNEL, 'due');
  RETURN NULL;
END $function$` as string,
  },
  wake: {
    folder: 'schema/functions',
    parameters: [],
    values: ['IN_PROGRESS', 'PRIORITY_POINT_MS', 'CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.wake(uuid) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  holder text;
BEGIN
  UPDATE saga.instance i SET woken = true,
    due_at = CASE WHEN i.locked_by IS NULL AND i.status IN :IN_PROGRESS THEN now() ELSE i.due_at END,
    rank_at = CASE WHEN i.locked_by IS NULL AND i.status IN :IN_PROGRESS THEN now() - i.priority * interval ':PRIORITY_POINT_MS milliseconds'
      ELSE i.rank_at END
  WHERE i.id = $1
  RETURNING i.locked_by INTO holder;
  IF FOUND THEN
    PERFORM pg_notify(:CHANNEL, CASE WHEN holder IS NULL THEN 'due' ELSE 'look:' || $1 END);
  END IF;
END $function$` as string,
  },
  checkpoint_family: {
    folder: 'schema/functions',
    parameters: [],
    values: [
      'MESSAGE_TYPES',
      'START_TYPES',
      'SAGA_TYPES',
      'STEP_TYPES',
      'IS_RAISED',
      'SAGA_GIVEN',
      'STEP_GIVEN',
      'MESSAGE_GIVEN',
      'START_GIVEN',
      'CHANNEL',
    ],
    text: `CREATE OR REPLACE FUNCTION saga.checkpoint_family(lock_names text[], lock_keys text[], parent uuid, starters text[],
  :MESSAGE_TYPES, :START_TYPES, :SAGA_TYPES, :STEP_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  IF cardinality(lock_names) > 0 AND :IS_RAISED THEN RETURN ARRAY[NULL]::uuid[]; END IF;
  PERFORM saga.lock_queues(lock_names, lock_keys);
  IF parent IS NOT NULL THEN
    PERFORM FROM saga.instance i WHERE i.id = parent OR i.id = w_id[1] ORDER BY i.id FOR NO KEY UPDATE;
  END IF;
  saved := saga.checkpoint(:SAGA_GIVEN, :STEP_GIVEN, fresh);
  IF cardinality(saved) = 0 THEN RETURN saved; END IF;
  IF cardinality(lock_names) > 0 THEN PERFORM saga.lock_dequeue(saved); END IF;
  IF cardinality(m_id) > 0 THEN PERFORM saga.publish(:MESSAGE_GIVEN); END IF;
  IF parent IS NOT NULL THEN PERFORM saga.wake(parent); END IF;
  IF cardinality(starters) > 0 THEN
    PERFORM saga.start('', 0, :START_GIVEN, false);
    UPDATE saga.instance i SET parent_id = saved[1], parent_step = c.step
    FROM unnest(n_id, starters) AS c(id, step) WHERE i.id = c.id;
    PERFORM pg_notify(:CHANNEL, 'due');
  END IF;
  RETURN saved;
END $function$` as string,
  },
  fence_lost: {
    folder: 'schema/functions',
    parameters: [],
    values: ['PRIORITY_POINT_MS', 'CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.fence_lost(uuid[], int[], int[], text[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  UPDATE saga.instance i SET
    epoch = i.epoch + 1, locked_by = NULL, due_at = now(),
    rank_at = now() - i.priority * interval ':PRIORITY_POINT_MS milliseconds'
  FROM unnest($1, $2, $3, $4) AS w(id, epoch, number, holder)
  WHERE i.id = w.id AND i.epoch = w.epoch AND (i.checkpoints < w.number OR i.locked_by <> w.holder);
  IF FOUND THEN PERFORM pg_notify(:CHANNEL, 'due'); END IF;
END $function$` as string,
  },
  lock_queues: {
    folder: 'schema/functions',
    parameters: [],
    values: ['IS_RAISED', 'NOT_READ_COMMITTED', 'SCHEMA'],
    text: `CREATE OR REPLACE FUNCTION saga.lock_queues(text[], text[]) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  queue bigint;
BEGIN
  IF cardinality($1) > 0 AND :IS_RAISED THEN
    RAISE EXCEPTION 'lock queues can be locked at READ COMMITTED only' USING ERRCODE = :NOT_READ_COMMITTED;
  END IF;
  FOR queue IN
    SELECT DISTINCT hashtextextended(format('%L %L', w.name, w.key), hashtext($q$:SCHEMA$q$)) AS h
    FROM unnest($1, $2) AS w(name, key) ORDER BY h
  LOOP
    PERFORM pg_advisory_xact_lock(queue);
  END LOOP;
END $function$` as string,
  },
  lock_holder: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.lock_holder(text, text) RETURNS uuid LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  RETURN coalesce(
    (SELECT h.id FROM saga.instance h WHERE h.name = $1 AND h.lock_key = $2 AND h.lock_state = 'held'),
    (SELECT l.id FROM saga.instance l WHERE l.name = $1 AND l.lock_key = $2 AND l.lock_state IS NOT NULL
      AND (l.lock_state <> 'arriving' OR coalesce(l.starts_at <= clock_timestamp(), true)
        AND (l.locked_by IS NOT NULL OR l.due_at <= clock_timestamp()))
     ORDER BY l.lock_position LIMIT 1));
END $function$` as string,
  },
  lock_hand_over: {
    folder: 'schema/functions',
    parameters: [],
    values: ['PRIORITY_POINT_MS', 'CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.lock_hand_over(text, text) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  next record;
BEGIN
  PERFORM FROM saga.instance h WHERE h.name = $1 AND h.lock_key = $2 AND h.lock_state = 'held';
  IF FOUND THEN RETURN; END IF;
  UPDATE saga.instance i SET lock_state = 'held'
  WHERE i.id = (SELECT n.id FROM saga.instance n WHERE n.name = $1 AND n.lock_key = $2 AND n.lock_state = 'inside'
    ORDER BY n.lock_position LIMIT 1);
  IF FOUND THEN RETURN; END IF;
  SELECT l.id, l.lock_state, l.status <> 'running' AS undone INTO next FROM saga.instance l
  WHERE l.name = $1 AND l.lock_key = $2 AND l.lock_state IS NOT NULL
      AND (l.lock_state <> 'arriving' OR coalesce(l.starts_at <= clock_timestamp(), true)
        AND (l.locked_by IS NOT NULL OR l.due_at <= clock_timestamp()))
  ORDER BY l.lock_position LIMIT 1;
  IF next.lock_state = 'waiting' THEN
    UPDATE saga.instance i SET
      lock_state = 'held',
      due_at = CASE WHEN i.status = 'paused' OR i.locked_by IS NOT NULL THEN i.due_at ELSE now() END,
      rank_at = CASE WHEN i.status = 'paused' OR i.locked_by IS NOT NULL THEN i.rank_at
        ELSE now() - i.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      deadline_at = now() + i.lock_timeout * interval '1 millisecond'
    WHERE i.id = next.id;
    PERFORM pg_notify(:CHANNEL, 'due');
    IF next.undone THEN PERFORM saga.look_again(next.id); END IF;
  END IF;
END $function$` as string,
  },
  lock_dequeue: {
    folder: 'schema/functions',
    parameters: [],
    values: ['ENDED_STATUSES'],
    text: `CREATE OR REPLACE FUNCTION saga.lock_dequeue(uuid[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  gone record;
BEGIN
  FOR gone IN
    UPDATE saga.instance i SET lock_state = NULL, locked_by = CASE WHEN i.status IN :ENDED_STATUSES THEN NULL ELSE i.locked_by END, due_at = CASE WHEN i.status IN :ENDED_STATUSES THEN NULL ELSE i.due_at END, rank_at = CASE WHEN i.status IN :ENDED_STATUSES THEN NULL ELSE i.rank_at END, takeovers = CASE WHEN i.status IN :ENDED_STATUSES THEN 0 ELSE i.takeovers END
    WHERE i.id = ANY($1) AND coalesce(i.lock_state, '') <> ''
      AND (i.status IN :ENDED_STATUSES
        OR (i.lock_state NOT IN ('held', 'inside') AND NOT (i.status = 'compensating' AND coalesce(i.failure ->> 'kind', '') = 'undone')
          AND (i.status NOT IN ('running', 'paused') OR i.cancel_requested_at IS NOT NULL)
          AND (SELECT true FROM saga.step s WHERE s.saga_id = i.id AND s.status = 'completed' LIMIT 1) IS NULL))
    RETURNING i.name, i.lock_key
  LOOP
    PERFORM saga.lock_hand_over(gone.name, gone.lock_key);
  END LOOP;
END $function$` as string,
  },
  lock_enqueue: {
    folder: 'schema/functions',
    parameters: [],
    values: ['ENDED_STATUSES', 'PRIORITY_POINT_MS'],
    text: `CREATE OR REPLACE FUNCTION saga.lock_enqueue(uuid[], int[], text[], text[])
RETURNS TABLE (ready uuid, deadline float8, held boolean, deadlock json, cancelled boolean, reason text) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  given record;
  is_inside boolean;
  circle json;
BEGIN
  PERFORM saga.lock_queues($3, $4);
  PERFORM saga.lock_families($1, $2);
  PERFORM saga.lock_dequeue($1);
  FOR given IN
    SELECT i.id, i.name, i.lock_key, i.lock_position, i.lock_state, i.status, i.parent_id, i.starts_at,
      i.status <> 'running' AS undone
    FROM unnest($1, $2) AS w(id, epoch)
    JOIN saga.instance i ON i.id = w.id AND i.epoch = w.epoch
    ORDER BY i.lock_position
  LOOP
    CONTINUE WHEN given.status IN :ENDED_STATUSES;
    IF given.lock_state IN ('arriving', 'waiting') THEN
      is_inside := given.parent_id IS NOT NULL AND EXISTS (SELECT FROM saga.family_locks(given.parent_id) f
        WHERE f.holder_name = given.name AND f.holder_key = given.lock_key);
      IF given.starts_at IS NOT NULL OR NOT is_inside AND (EXISTS (SELECT FROM saga.instance h
          WHERE h.name = given.name AND h.lock_key = given.lock_key AND h.lock_state = 'held')
        OR EXISTS (SELECT FROM saga.instance l
          WHERE l.name = given.name AND l.lock_key = given.lock_key AND l.lock_position < given.lock_position AND l.lock_state IS NOT NULL
      AND (l.lock_state <> 'arriving' OR coalesce(l.starts_at <= clock_timestamp(), true)
        AND (l.locked_by IS NOT NULL OR l.due_at <= clock_timestamp()))))
      THEN
        circle := CASE WHEN given.starts_at IS NULL AND given.parent_id IS NOT NULL THEN saga.break_circle(given.id) END;
        IF circle IS NULL THEN
          UPDATE saga.instance i SET
            lock_state = CASE WHEN i.starts_at IS NULL THEN 'waiting' ELSE i.lock_state END, locked_by = NULL,
            due_at = i.starts_at, rank_at = i.starts_at - i.priority * interval ':PRIORITY_POINT_MS milliseconds', takeovers = 0
          WHERE i.id = given.id;
          CONTINUE;
        END IF;
        UPDATE saga.instance i SET lock_state = NULL, lock_deadlock = circle, takeovers = 0 WHERE i.id = given.id;
      ELSE
        UPDATE saga.instance i SET
          lock_state = CASE WHEN is_inside THEN 'inside' ELSE 'held' END, takeovers = 0,
          deadline_at = now() + i.lock_timeout * interval '1 millisecond'
        WHERE i.id = given.id;
        IF given.undone AND NOT is_inside THEN PERFORM saga.look_again(given.id); END IF;
      END IF;
    END IF;
    RETURN QUERY SELECT i.id, (extract(epoch FROM i.deadline_at) * 1000)::float8, i.lock_state IS NOT NULL, i.lock_deadlock,
      i.cancel_requested_at IS NOT NULL, i.cancel_reason
    FROM saga.instance i WHERE i.id = given.id;
  END LOOP;
END $function$` as string,
  },
  checkpoint_locked: {
    folder: 'schema/functions',
    parameters: [],
    values: ['SAGA_TYPES', 'STEP_TYPES', 'IS_RAISED', 'SAGA_GIVEN', 'STEP_GIVEN'],
    text: `CREATE OR REPLACE FUNCTION saga.checkpoint_locked(lock_names text[], lock_keys text[], :SAGA_TYPES, :STEP_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  IF cardinality(lock_names) > 0 AND :IS_RAISED THEN RETURN ARRAY[NULL]::uuid[]; END IF;
  PERFORM saga.lock_queues(lock_names, lock_keys);
  saved := saga.checkpoint(:SAGA_GIVEN, :STEP_GIVEN, fresh);
  PERFORM saga.lock_dequeue(saved);
  RETURN saved;
END $function$` as string,
  },
  reserve: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.reserve(text, text, text, int, float8, int, float8, uuid, float8[])
RETURNS TABLE (times float8[], clock float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  stored record;
  given_out record;
  kept float8[];
  given float8[] := '{}';
  size int;
  next float8;
  behind float8;
  passed float8;
  free_from float8;
  has_gaps boolean;
  is_changed boolean := false;
BEGIN
  LOOP
    SELECT r.times, r.count, r.per, r.from_at, r.is_ahead INTO stored FROM saga.rate_limit r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3
    FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO saga.rate_limit (saga, step, key, times, count, per) VALUES ($1, $2, $3, '{}', $4, $5) ON CONFLICT DO NOTHING;
    IF FOUND AND $3 <> '' THEN
      WITH idle AS (
        DELETE FROM saga.rate_limit r WHERE r.saga = $1 AND r.step = $2 AND r.key = ANY(ARRAY(
          SELECT i.key FROM saga.rate_limit i
          WHERE i.saga = $1 AND i.step = $2 AND i.idle_at < extract(epoch FROM clock_timestamp()) * 1000
          ORDER BY i.idle_at LIMIT 2 FOR UPDATE SKIP LOCKED))
        RETURNING r.key)
      DELETE FROM saga.rate_time t WHERE t.saga = $1 AND t.step = $2 AND t.key = ANY(ARRAY(SELECT i.key FROM idle i));
    END IF;
  END LOOP;
  clock := extract(epoch FROM clock_timestamp()) * 1000;
  kept := stored.times;
  FOREACH passed IN ARRAY $9 LOOP
    IF stored.is_ahead THEN
      DELETE FROM saga.rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at = passed AND r.number = (
        SELECT o.number FROM saga.rate_time o WHERE o.saga = $1 AND o.step = $2 AND o.key = $3
        AND o.at = passed AND (o.holder IS NULL OR o.holder = $8) LIMIT 1);
      is_changed := is_changed OR FOUND;
    ELSE
      size := array_position(kept, passed);
      IF size IS NOT NULL THEN kept := kept[1 : size - 1] || kept[size + 1 :]; END IF;
    END IF;
  END LOOP;
  has_gaps := stored.from_at IS NOT NULL;
  free_from := coalesce(stored.from_at, clock);
  IF NOT stored.is_ahead THEN
    IF kept[cardinality(kept)] > clock THEN kept := ARRAY(SELECT least(k, clock) FROM unnest(kept) k ORDER BY 1); END IF;
  ELSE
    is_changed := is_changed OR stored.count <> $4 OR stored.per <> $5;
    FOR given_out IN
      SELECT r.at, r.number, r.is_used, r.holder IS NOT NULL AND NOT EXISTS (
        SELECT FROM saga.instance i WHERE i.id = r.holder AND i.finished_at IS NULL AND (i.locked_by IS NOT NULL
          OR (i.progress -> 'turn' ->> 'at')::float8 = r.at
          OR EXISTS (SELECT FROM saga.step s WHERE s.saga_id = i.id AND s.status = 'waiting'
            AND (s.progress ->> 'permit')::float8 = r.at))) AS is_free
      FROM saga.rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at > clock ORDER BY r.at, r.number LIMIT 100
    LOOP
      CONTINUE WHEN NOT given_out.is_used AND NOT given_out.is_free;
      is_changed := true;
      DELETE FROM saga.rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at = given_out.at AND r.number = given_out.number;
      IF given_out.is_used THEN
        INSERT INTO saga.rate_time (saga, step, key, at, is_used) VALUES ($1, $2, $3, clock, true);
      END IF;
    END LOOP;
    IF is_changed THEN
      has_gaps := true;
      free_from := clock;
      kept := ARRAY(SELECT k.at FROM (
        SELECT r.at FROM saga.rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 ORDER BY r.at DESC, r.number DESC LIMIT $4) k ORDER BY 1);
    END IF;
  END IF;
  FOR n IN 1..$6 LOOP
    size := cardinality(kept);
    next := greatest(clock + $7, kept[size]);
    IF size >= $4 THEN next := greatest(next, kept[size - $4 + 1] + $5); END IF;
    IF next > clock AND NOT stored.is_ahead THEN
      DELETE FROM saga.rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3;
      INSERT INTO saga.rate_time (saga, step, key, at, is_used)
      SELECT $1, $2, $3, k, k <= clock FROM unnest(kept) k WHERE k > clock - $5;
      stored.is_ahead := true;
    END IF;
    IF has_gaps THEN
      free_from := greatest(free_from, clock + $7);
      FOR tries IN 1..100 LOOP
        EXIT WHEN free_from >= next;
        SELECT max(w.at) + $5 INTO behind FROM (
          SELECT r.at, lead(r.at, $4 - 1) OVER (ORDER BY r.at, r.number) AS last FROM saga.rate_time r
          WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at > free_from - $5 + 0.005 AND r.at < free_from + $5 - 0.005) w
        WHERE w.last - w.at < $5 - 0.005;
        EXIT WHEN behind IS NULL;
        free_from := behind;
      END LOOP;
      IF behind IS NULL OR free_from >= next THEN next := least(next, free_from); END IF;
    END IF;
    IF stored.is_ahead THEN
      INSERT INTO saga.rate_time (saga, step, key, at, is_used, holder) VALUES ($1, $2, $3, next, next <= clock, $8);
    END IF;
    IF kept[1] IS NULL OR next >= kept[cardinality(kept)] THEN kept := kept || next;
    ELSE kept := ARRAY(SELECT k FROM unnest(kept || next) k ORDER BY 1);
    END IF;
    given := given || next;
  END LOOP;
  IF stored.is_ahead THEN
    DELETE FROM saga.rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at <= clock - $5 AND r.number = ANY(ARRAY(
      SELECT o.number FROM saga.rate_time o WHERE o.saga = $1 AND o.step = $2 AND o.key = $3 AND o.at <= clock - $5
      ORDER BY o.at LIMIT 10 + $6));
  END IF;
  kept := kept[greatest(1, cardinality(kept) - $4 + 1):];
  UPDATE saga.rate_limit r SET times = kept, count = $4, per = $5,
    from_at = CASE WHEN has_gaps AND kept[cardinality(kept)] > greatest(clock, free_from) THEN free_from END,
    is_ahead = kept[cardinality(kept)] > clock,
    idle_at = CASE WHEN $3 <> '' THEN kept[cardinality(kept)] + $5 END
  WHERE r.saga = $1 AND r.step = $2 AND r.key = $3;
  times := given;
  RETURN NEXT;
END $function$` as string,
  },
  rest_while_paused: {
    folder: 'schema/functions',
    parameters: [],
    values: ['PRIORITY_POINT_MS', 'IN_PROGRESS', 'CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.rest_while_paused(uuid[], uuid[], text[]) RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  PERFORM FROM saga.step_pause p
  WHERE p.resumed_at IS NULL AND EXISTS (
    SELECT FROM unnest($2, $3) AS w(id, step) JOIN saga.instance i ON i.id = w.id
    WHERE i.name = p.saga AND w.step = p.step)
  ORDER BY p.id FOR SHARE OF p;

  UPDATE saga.instance u SET due_at = now(),
    rank_at = now() - u.priority * interval ':PRIORITY_POINT_MS milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM unnest($2, $3) AS w(id, step) JOIN saga.instance i ON i.id = w.id
    WHERE ($1 IS NULL OR i.id = ANY($1)) AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND NOT EXISTS (
      SELECT FROM saga.step_pause p WHERE p.saga = i.name AND p.step = w.step AND p.resumed_at IS NULL)));
  IF FOUND THEN PERFORM pg_notify(:CHANNEL, 'pauses'); END IF;
  RETURN $1;
END $function$` as string,
  },
  set_tags: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.set_tags(uuid[], uuid[], text[]) RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  UPDATE saga.instance i SET tags = w.tags::jsonb
  FROM unnest($2, $3) AS w(id, tags)
  WHERE i.id = w.id AND ($1 IS NULL OR w.id = ANY($1));
  RETURN $1;
END $function$` as string,
  },
  shard_closed: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.shard_closed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the shard is closed' USING ERRCODE = '57P03';
END $function$` as string,
  },
  signal: {
    folder: 'schema/functions',
    parameters: [],
    values: ['IN_PROGRESS', 'ENDED_STATUSES', 'PRIORITY_POINT_MS', 'CHANNEL'],
    text: `CREATE OR REPLACE FUNCTION saga.signal(uuid[], text[], text[], text[], text[], json[], jsonb)
RETURNS TABLE (place int, outcome text, id uuid, name text, version int, status text, awaited text[], elsewhere boolean) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
#variable_conflict use_column
DECLARE
  given record;
  sent_to record;
  known jsonb;
BEGIN
  FOR given IN
    SELECT w.place::int, w.signal, w.message_id, w.payload, CASE WHEN w.saga IS NULL THEN w.id ELSE coalesce(
        (SELECT i.id FROM saga.instance i WHERE i.correlation_id = w.correlation_id AND i.name = w.saga),
        (SELECT i.id FROM saga.instance i WHERE i.id = w.id AND i.name = w.saga AND i.correlation_id IS NULL)) END AS id
    FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS w(id, saga, correlation_id, signal, message_id, payload, place)
    ORDER BY 5, 1
  LOOP
    place := given.place;
    id := given.id;
    SELECT i.name, i.version, i.graph_revision, i.status, i.signals, i.locked_by,
      coalesce(jsonb_exists((i.progress -> 'awaits')::jsonb, given.signal), false) AS awaits,
      i.locked_by IS NULL AND i.status IN :IN_PROGRESS AS rests
    INTO sent_to FROM saga.instance i WHERE i.id = given.id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      outcome := 'unknown';
      RETURN NEXT;
      CONTINUE;
    END IF;
    name := sent_to.name;
    version := sent_to.version;
    status := sent_to.status;
    known := CASE WHEN sent_to.graph_revision IS NULL THEN $7 -> (sent_to.name || '@' || sent_to.version) END;
    awaited := NULL;
    IF NOT ($7 IS NULL OR sent_to.awaits OR coalesce(jsonb_exists(known, given.signal), false)) THEN
      SELECT array(
        SELECT n.signal FROM json_array_elements(g.graph -> 'steps') s(step),
          LATERAL (VALUES (s.step ->> 'signal'), (s.step ->> 'reply')) n(signal)
        WHERE n.signal IS NOT NULL)
      INTO awaited FROM saga.graph g
      WHERE g.name = sent_to.name AND g.version = sent_to.version AND g.revision = coalesce(sent_to.graph_revision,
        (SELECT max(n.revision) FROM saga.graph n WHERE n.name = sent_to.name AND n.version = sent_to.version));
      IF known IS NOT NULL THEN
        awaited := coalesce(awaited, '{}') || array(SELECT jsonb_array_elements_text(known));
      END IF;
    END IF;
    IF EXISTS (SELECT FROM saga.signal g WHERE g.saga_id = given.id AND g.message_id = given.message_id) THEN
      outcome := 'known';
    ELSIF given.signal <> ALL (awaited) THEN
      outcome := 'refused';
      elsewhere := EXISTS (SELECT FROM saga.graph g, LATERAL json_array_elements(g.graph -> 'steps') s(step)
        WHERE g.name = sent_to.name AND given.signal IN (s.step ->> 'signal', s.step ->> 'reply'));
    ELSIF sent_to.status IN :ENDED_STATUSES THEN
      outcome := 'ended';
    ELSE
      outcome := 'kept';
      INSERT INTO saga.signal (saga_id, number, name, message_id, payload, sent_at)
      VALUES (given.id, sent_to.signals + 1, given.signal, given.message_id, given.payload, clock_timestamp());
      UPDATE saga.instance i SET
        signals = i.signals + 1,
        woken = i.woken OR sent_to.locked_by IS NOT NULL,
        due_at = CASE WHEN sent_to.rests AND sent_to.awaits THEN now() ELSE i.due_at END,
        rank_at = CASE WHEN sent_to.rests AND sent_to.awaits THEN now() - i.priority * interval ':PRIORITY_POINT_MS milliseconds' ELSE i.rank_at END
      WHERE i.id = given.id;
      IF sent_to.rests AND sent_to.awaits THEN
        PERFORM pg_notify(:CHANNEL, 'due');
      ELSIF sent_to.locked_by IS NOT NULL THEN
        PERFORM pg_notify(:CHANNEL, 'look:' || given.id);
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
END $function$` as string,
  },
  start_rejecting: {
    folder: 'schema/functions',
    parameters: [],
    values: ['START_TYPES', 'START_AGGREGATES', 'START_GIVEN', 'START_COLUMNS'],
    text: `CREATE OR REPLACE FUNCTION saga.start_rejecting(worker text, lease float8, :START_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  free bigint[];
BEGIN
  PERFORM saga.lock_queues(n_name, n_lock_key);
  free := ARRAY(SELECT f.n FROM (
      SELECT w.n, w.name, w.key, row_number() OVER (PARTITION BY w.name, w.key ORDER BY w.lock_order) AS place
      FROM unnest(n_name, n_lock_key, n_lock_order) WITH ORDINALITY AS w(name, key, lock_order, n)) f
    WHERE f.place = 1 AND saga.lock_holder(f.name, f.key) IS NULL);
  IF cardinality(free) = 0 THEN RETURN '{}'; END IF;
  RETURN (SELECT saga.start(worker, lease, :START_AGGREGATES, fresh)
    FROM unnest(:START_GIVEN) WITH ORDINALITY AS w(:START_COLUMNS, row_of_call) WHERE w.row_of_call = ANY(free));
END $function$` as string,
  },
  start: {
    folder: 'schema/functions',
    parameters: [],
    values: [
      'START_TYPES',
      'STARTED_COLUMNS',
      'STARTED_VALUES',
      'PRIORITY_POINT_MS',
      'START_GIVEN',
      'START_COLUMNS',
    ],
    text: `CREATE OR REPLACE FUNCTION saga.start(worker text, lease float8, :START_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
BEGIN
  IF fresh THEN
    WITH i AS (INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest(:START_GIVEN) AS w(:START_COLUMNS)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t  RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest(:START_GIVEN) AS w(:START_COLUMNS)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t  ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  RETURN coalesce(started, '{}');
END $function$` as string,
  },
  start_one: {
    folder: 'schema/functions',
    parameters: [],
    values: ['START_TYPES_ONE', 'STARTED_COLUMNS', 'STARTED_VALUES', 'PRIORITY_POINT_MS', 'START_GIVEN_ONE'],
    text: `CREATE OR REPLACE FUNCTION saga.start_one(worker text, lease float8, :START_TYPES_ONE, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
BEGIN
  IF fresh THEN
    WITH i AS (INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t  RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t  ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  RETURN coalesce(started, '{}');
END $function$` as string,
  },
  lock_slots: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.lock_slots(text, text, text) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  LOOP
    PERFORM FROM saga.step_limit s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO saga.step_limit (saga, step, key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;
  END LOOP;
END $function$` as string,
  },
  settle_slots: {
    folder: 'schema/functions',
    parameters: [],
    values: ['SLOT_KEPT_MS'],
    text: `CREATE OR REPLACE FUNCTION saga.settle_slots(text, text, text) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  lost record;
BEGIN
  FOR lost IN
    SELECT s.saga_id, s.step_key, EXISTS (SELECT FROM saga.instance i WHERE i.id = s.saga_id AND i.status = 'running' AND i.locked_by IS NULL
      AND EXISTS (SELECT FROM saga.step t WHERE t.saga_id = i.id AND t.name = s.step_key AND t.status = 'waiting'
        AND (t.progress -> 'slot') IS NOT NULL)) AS rests
    FROM saga.step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state = 'taken'
      AND NOT EXISTS (SELECT FROM saga.instance i WHERE i.id = s.saga_id AND i.epoch = s.epoch AND i.locked_by IS NOT NULL)
  LOOP
    IF lost.rests THEN
      UPDATE saga.step_slot s SET state = 'waiting' WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = lost.saga_id AND s.step_key = lost.step_key;
    ELSE
      DELETE FROM saga.step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = lost.saga_id AND s.step_key = lost.step_key;
    END IF;
  END LOOP;
  UPDATE saga.step_slot s SET state = 'late'
  WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state = 'called' AND (s.called_at BETWEEN clock_timestamp() - interval ':SLOT_KEPT_MS milliseconds' AND clock_timestamp()) IS NOT TRUE;
END $function$` as string,
  },
  promote_slots: {
    folder: 'schema/functions',
    parameters: [],
    values: ['SLOT_LOOKS'],
    text: `CREATE OR REPLACE FUNCTION saga.promote_slots(text, text, text, int[], int[], uuid, text[],
  OUT called uuid[], OUT since timestamptz[]) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  used int;
  waiter record;
  passed bigint := -1;
  is_late boolean := false;
  slots int;
BEGIN
  called := '{}';
  since := '{}';
  SELECT count(*) INTO used FROM saga.step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state <> 'late';
  FOR n IN 1..:SLOT_LOOKS LOOP
    IF NOT is_late THEN
      SELECT s.saga_id, s.step_key, s.number, s.since, i.version,
        coalesce(s.saga_id = $6 AND s.step_key = ANY($7), false) AS is_own,
        coalesce((i.status = 'running' AND i.locked_by IS NOT NULL) OR (i.status = 'running' AND i.locked_by IS NULL
      AND EXISTS (SELECT FROM saga.step t WHERE t.saga_id = i.id AND t.name = s.step_key AND t.status = 'waiting'
        AND (t.progress -> 'slot') IS NOT NULL)), false) AS waits
      INTO waiter FROM saga.step_slot s LEFT JOIN saga.instance i ON i.id = s.saga_id
      WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state = 'waiting' AND s.number > passed ORDER BY s.number LIMIT 1;
      IF NOT FOUND THEN
        is_late := true;
        passed := -1;
      END IF;
    END IF;
    IF is_late THEN
      SELECT s.saga_id, s.step_key, s.number, s.since, i.version,
        coalesce(s.saga_id = $6 AND s.step_key = ANY($7), false) AS is_own,
        coalesce((i.status = 'running' AND i.locked_by IS NOT NULL) OR (i.status = 'running' AND i.locked_by IS NULL
      AND EXISTS (SELECT FROM saga.step t WHERE t.saga_id = i.id AND t.name = s.step_key AND t.status = 'waiting'
        AND (t.progress -> 'slot') IS NOT NULL)), false) AS waits
      INTO waiter FROM saga.step_slot s LEFT JOIN saga.instance i ON i.id = s.saga_id
      WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state = 'late' AND s.number > passed ORDER BY s.number LIMIT 1;
      EXIT WHEN NOT FOUND;
    END IF;
    passed := waiter.number;
    slots := CASE WHEN $4 IS NULL THEN $5[1] ELSE $5[array_position($4, waiter.version)] END;
    CONTINUE WHEN slots IS NULL AND waiter.version IS NOT NULL;
    EXIT WHEN used >= slots AND $4 IS NULL;
    CONTINUE WHEN used >= slots;
    IF waiter.is_own THEN
      UPDATE saga.step_slot s SET state = 'taken'
      WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
      used := used + 1;
    ELSIF waiter.waits THEN
      UPDATE saga.step_slot s SET state = 'called', called_at = clock_timestamp()
      WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
      called := called || waiter.saga_id;
      since := since || waiter.since;
      used := used + 1;
    ELSE
      DELETE FROM saga.step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
    END IF;
  END LOOP;
  FOR waiter IN
    SELECT s.step_key, s.number FROM saga.step_slot s
    WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = $6 AND s.step_key = ANY($7) AND s.state = 'waiting' ORDER BY s.number
  LOOP
    UPDATE saga.step_slot s SET state = 'waiting'
    WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state = 'called' AND s.number > waiter.number AND s.number = (
      SELECT max(o.number) FROM saga.step_slot o
      WHERE o.saga = $1 AND o.step = $2 AND o.key = $3 AND o.state <> 'waiting' AND o.state = 'called');
    EXIT WHEN NOT FOUND;
    UPDATE saga.step_slot s SET state = 'taken' WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = $6 AND s.step_key = waiter.step_key;
  END LOOP;
END $function$` as string,
  },
  call_all: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.call_all(uuid[], timestamptz[]) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  called record;
BEGIN
  FOR called IN SELECT w.id, min(w.since) AS since FROM unnest($1, $2) AS w(id, since) GROUP BY w.id ORDER BY w.id LOOP
    PERFORM saga.wake(called.id);
    UPDATE saga.instance i SET rank_at = i.rank_at - greatest(now() - called.since, interval '0')
    WHERE i.id = called.id AND i.locked_by IS NULL AND i.rank_at IS NOT NULL;
  END LOOP;
END $function$` as string,
  },
  fence_slots: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.fence_slots(text[]) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  lapsed uuid[];
BEGIN
  lapsed := ARRAY(SELECT i.id FROM saga.instance i WHERE i.id = ANY(ARRAY(
      SELECT s.saga_id FROM saga.step_slot s WHERE s.saga = ANY($1) AND s.state <> 'waiting'))
    AND i.locked_by IS NOT NULL AND i.due_at <= clock_timestamp()
    AND EXISTS (SELECT FROM saga.step_slot s WHERE s.saga = i.name AND s.saga_id = i.id AND s.epoch = i.epoch AND s.state = 'taken')
    ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE saga.instance i SET epoch = i.epoch + 1 WHERE i.id = ANY(lapsed);
END $function$` as string,
  },
  take_slots: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.take_slots(text, text, text, int, uuid, int, int, text[]) RETURNS text[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  others record;
BEGIN
  PERFORM saga.lock_slots($1, $2, $3);
  PERFORM FROM saga.instance i WHERE i.id = $5 AND i.epoch = $6 AND i.locked_by IS NOT NULL AND i.due_at > clock_timestamp();
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM saga.settle_slots($1, $2, $3);
  INSERT INTO saga.step_slot AS s (saga, step, key, saga_id, step_key, epoch, turn, state)
  SELECT $1, $2, $3, $5, w.step, $6, $7, 'waiting' FROM unnest($8) WITH ORDINALITY AS w(step, place) ORDER BY w.place
  ON CONFLICT (saga, step, key, saga_id, step_key) DO UPDATE SET epoch = excluded.epoch,
    turn = CASE WHEN s.epoch = excluded.epoch THEN greatest(s.turn, excluded.turn) ELSE excluded.turn END,
    state = CASE WHEN s.state = 'taken' THEN s.state ELSE 'waiting' END;
  others := saga.promote_slots($1, $2, $3, NULL, ARRAY[$4], $5, $8);
  PERFORM saga.call_all(others.called, others.since);
  RETURN ARRAY(SELECT s.step_key FROM saga.step_slot s
    WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.state = 'taken');
END $function$` as string,
  },
  free_slots: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.free_slots(text, text, text, int, uuid, int, int, text[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  others record;
BEGIN
  PERFORM saga.lock_slots($1, $2, $3);
  DELETE FROM saga.step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.epoch = $6 AND s.turn <= $7;
  PERFORM saga.settle_slots($1, $2, $3);
  others := saga.promote_slots($1, $2, $3, NULL, ARRAY[$4], NULL, NULL);
  PERFORM saga.call_all(others.called, others.since);
  IF $3 <> '' AND NOT EXISTS (SELECT FROM saga.step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3) THEN
    DELETE FROM saga.step_limit s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3;
  END IF;
END $function$` as string,
  },
  sweep_slots: {
    folder: 'schema/functions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.sweep_slots(text[], int[], text[], int[], text[], int[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  swept record;
  others record;
  called uuid[] := '{}';
  since timestamptz[] := '{}';
BEGIN
  FOR swept IN
    SELECT s.saga, s.step, s.key FROM saga.step_limit s
    WHERE s.saga = ANY($1) AND (s.checked_at BETWEEN clock_timestamp() - interval '4000 milliseconds' AND clock_timestamp()) IS NOT TRUE
    ORDER BY s.checked_at LIMIT 500 FOR UPDATE SKIP LOCKED
  LOOP
    PERFORM saga.settle_slots(swept.saga, swept.step, swept.key);
    SELECT p.called, p.since INTO others FROM (
      SELECT array_agg(v.version) AS versions, array_agg(coalesce((SELECT w.count FROM unnest($3, $4, $5, $6) AS w(saga, version, step, count)
        WHERE w.saga = v.saga AND w.version = v.version AND w.step = swept.step LIMIT 1), 2147483647)) AS counts
      FROM unnest($1, $2) AS v(saga, version) WHERE v.saga = swept.saga) l
    CROSS JOIN LATERAL saga.promote_slots(swept.saga, swept.step, swept.key, l.versions, l.counts, NULL, NULL) p;
    called := called || others.called;
    since := since || others.since;
    IF EXISTS (SELECT FROM saga.step_slot s WHERE s.saga = swept.saga AND s.step = swept.step AND s.key = swept.key) THEN
      UPDATE saga.step_limit s SET checked_at = clock_timestamp()
      WHERE s.saga = swept.saga AND s.step = swept.step AND s.key = swept.key;
    ELSE
      DELETE FROM saga.step_limit s WHERE s.saga = swept.saga AND s.step = swept.step AND s.key = swept.key;
    END IF;
  END LOOP;
  PERFORM saga.call_all(called, since);
END $function$` as string,
  },
  all_steps: {
    folder: 'schema/functions',
    parameters: [],
    values: ['STATE_COLUMN_TYPES', 'NOTED_COLUMNS'],
    text: `CREATE OR REPLACE FUNCTION saga.all_steps()
RETURNS TABLE (saga_id uuid, name text, :STATE_COLUMN_TYPES, progress json, started_at timestamptz,
  updated_at timestamptz) LANGUAGE sql STABLE AS $function$
  SELECT s.saga_id, s.name,
    :NOTED_COLUMNS,
    s.progress,
    s.started_at,
    CASE WHEN n.note IS NULL THEN s.updated_at
      ELSE i.created_at + (CASE n.form WHEN 'number' THEN n.note #>> '{}' WHEN 'array' THEN n.note->>0
        ELSE n.note->>'at' END)::float8 * interval '1 millisecond' END
  FROM saga.step s
  CROSS JOIN LATERAL (SELECT m.created_at, m.progress FROM saga.instance m WHERE m.id = s.saga_id LIMIT 1) AS i
  CROSS JOIN LATERAL (SELECT i.progress->'notes'->s.name AS note) AS of_step
  CROSS JOIN LATERAL (
    SELECT of_step.note, json_typeof(of_step.note) AS form,
      CASE json_typeof(of_step.note) WHEN 'array' THEN of_step.note->4 ELSE of_step.note->'repeats' END AS repeats) AS n
$function$` as string,
  },
  steps_of: {
    folder: 'schema/functions',
    parameters: [],
    values: ['STATE_COLUMN_TYPES', 'STATE_COLUMNS'],
    text: `CREATE OR REPLACE FUNCTION saga.steps_of(uuid)
RETURNS TABLE (name text, :STATE_COLUMN_TYPES, started_at timestamptz,
  updated_at timestamptz) LANGUAGE sql STABLE AS $function$
  SELECT s.name, :STATE_COLUMNS, s.started_at, s.updated_at
  FROM saga.all_steps() s
  WHERE s.saga_id = $1
  ORDER BY s.started_at, s.name
$function$` as string,
  },
  tasks: {
    folder: 'schema/functions',
    parameters: [],
    values: ['APPROVAL_PREFIX'],
    text: `CREATE OR REPLACE FUNCTION saga.tasks(uuid[], int[], int[], uuid[], text[], float8[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  saved uuid[];
BEGIN
  SELECT array_agg(l.id) INTO saved FROM (
    SELECT i.id FROM unnest($1, $2, $3) AS w(id, epoch, number)
    JOIN saga.instance i ON i.id = w.id AND i.epoch = w.epoch AND i.checkpoints = w.number
    ORDER BY i.id FOR NO KEY UPDATE OF i) l;
  IF saved IS NULL THEN
    RETURN;
  END IF;
  DELETE FROM saga.task t WHERE t.saga_id = ANY(saved) AND NOT EXISTS (
    SELECT FROM unnest($4, $5, $6) AS w(saga_id, step, since)
    WHERE w.saga_id = t.saga_id AND w.step = t.step AND to_timestamp(w.since / 1000) = t.since);
  INSERT INTO saga.task (saga_id, step, saga, since)
  SELECT i.id, w.step, i.name, to_timestamp(w.since / 1000)
  FROM unnest($4, $5, $6) AS w(saga_id, step, since) JOIN saga.instance i ON i.id = w.saga_id
  WHERE i.id = ANY(saved) AND NOT EXISTS (SELECT FROM saga.signal g
    WHERE g.saga_id = i.id AND g.name = :APPROVAL_PREFIX || w.step AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0))
  ON CONFLICT (saga_id, step) DO NOTHING;
END $function$` as string,
  },
  inbox_forget: {
    folder: 'schema/messaging',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.inbox_forget(float8, int) RETURNS int LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  forgotten int;
BEGIN
  WITH old AS MATERIALIZED (
    SELECT i.consumer, i.message_id FROM saga.inbox i WHERE i.handled_at < now() - $1 * interval '1 millisecond'
    ORDER BY i.handled_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  DELETE FROM saga.inbox i USING old WHERE i.consumer = old.consumer AND i.message_id = old.message_id;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $function$` as string,
  },
  publish: {
    folder: 'schema/messaging',
    parameters: [],
    values: ['MESSAGE_TYPES', 'MESSAGE_GIVEN', 'MESSAGE_COLUMNS', 'CHANNEL', 'IS_RAISED'],
    text: `CREATE OR REPLACE FUNCTION saga.publish(:MESSAGE_TYPES) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
  PERFORM pg_current_xact_id();
  INSERT INTO saga.outbox (id, aggregatetype, aggregateid, type, payload, headers)
  SELECT w.id, w.topic, w.key, w.type, w.payload, w.headers FROM unnest(:MESSAGE_GIVEN) AS w(:MESSAGE_COLUMNS)
  ON CONFLICT (id) DO NOTHING;
  PERFORM pg_notify(:CHANNEL, 'published') FROM saga.relay r WHERE r.asleep OR :IS_RAISED;
END $function$` as string,
  },
  outbox_let_go: {
    folder: 'schema/messaging',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.outbox_let_go(smallint[]) RETURNS smallint[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  due record;
  changed smallint[] := '{}';
BEGIN
  FOR due IN
    SELECT r.* FROM unnest($1) AS l(lane)
    CROSS JOIN LATERAL (
      SELECT o.id, o.lane, o.seq, o.aggregatetype AS topic, o.aggregateid AS key, o.attempts
      FROM saga.outbox o WHERE o.lane = l.lane AND o.retry_at <= now()
      ORDER BY o.retry_at LIMIT 100) r
  LOOP
    PERFORM FROM saga.outbox b
    WHERE b.held AND b.lane = due.lane AND b.aggregatetype = due.topic AND b.aggregateid = due.key AND b.seq < due.seq LIMIT 1;
    IF FOUND THEN
      UPDATE saga.outbox o SET retry_at = NULL WHERE o.id = due.id;
    ELSIF due.attempts > 0 THEN
      UPDATE saga.outbox o SET held = false, retry_at = NULL WHERE o.id = due.id;
      changed := changed || due.lane;
    ELSE
      UPDATE saga.outbox o SET held = false, retry_at = NULL
      FROM (SELECT b.id, bool_or(b.dead_at IS NOT NULL) OVER (ORDER BY b.seq) AS waits FROM (
        SELECT h.id, h.seq, h.dead_at FROM saga.outbox h
        WHERE h.held AND h.lane = due.lane AND h.aggregatetype = due.topic AND h.aggregateid = due.key
        ORDER BY h.seq LIMIT 1000) b) w
      WHERE o.id = w.id AND NOT w.waits;
      UPDATE saga.outbox o SET retry_at = now()
      FROM (SELECT b.id, b.dead_at, b.retry_at FROM saga.outbox b
        WHERE b.held AND b.lane = due.lane AND b.aggregatetype = due.topic AND b.aggregateid = due.key
        ORDER BY b.seq LIMIT 1) w
      WHERE o.id = w.id AND w.dead_at IS NULL AND w.retry_at IS NULL;
      changed := changed || due.lane;
    END IF;
  END LOOP;
  RETURN changed;
END $function$` as string,
  },
  outbox_take: {
    folder: 'schema/messaging',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.outbox_take(text, float8, int, int, bigint)
RETURNS TABLE (lane smallint, epoch bigint, seq bigint, id uuid, topic text, key text, type text, payload text,
  headers jsonb, attempts int, behind boolean) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
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
        SELECT e.* FROM saga.outbox_lane e WHERE e.leased_until < now() ORDER BY e.served_at, e.lane OFFSET 0) f
      WHERE EXISTS (SELECT FROM (SELECT CASE WHEN f.leased_by IS NOT NULL OR f.read_from_start_at <= now() - interval '1 minute' THEN 0
  WHEN f.read_to - f.safe_from <= 20000 THEN least(f.read_to, f.safe_from)
  ELSE least(f.read_to, (
    SELECT coalesce(max(m.seq), 0) FROM unnest(f.mark_xids, f.mark_seqs) AS m(xid, seq)
    WHERE m.xid < coalesce(
      (SELECT x.xid FROM pg_snapshot_xip(f.read_in) AS x(xid)
        WHERE pg_visible_in_snapshot(x.xid, (SELECT pg_current_snapshot())) ORDER BY x.xid LIMIT 1),
      pg_snapshot_xmax(f.read_in)))) END AS after OFFSET 0) s, saga.outbox o
          WHERE o.lane = f.lane AND NOT o.held AND o.seq > s.after)
        OR EXISTS (SELECT FROM saga.outbox o WHERE o.lane = f.lane AND o.retry_at <= now())
      OFFSET 0) c
    CROSS JOIN LATERAL (
      SELECT e.lane FROM saga.outbox_lane e WHERE e.lane = c.lane AND e.leased_until < now()
      FOR UPDATE SKIP LOCKED) l
    LIMIT $4) p;
  IF lanes IS NULL THEN
    UPDATE saga.relay r SET asleep = true
    WHERE NOT r.asleep AND NOT EXISTS (SELECT FROM saga.outbox_lane l WHERE l.leased_until >= now());
    RETURN;
  END IF;
  changed := saga.outbox_let_go(lanes);
  IF changed <> '{}' THEN UPDATE saga.outbox_lane l SET read_to = 0 WHERE l.lane = ANY(changed); END IF;
  share := greatest(1, $3 / cardinality(lanes));

  RETURN QUERY
  WITH read AS MATERIALIZED (
    SELECT l.lane, l.place, l.after, o.*
    FROM (SELECT f.lane, u.place, f.may_hold, CASE WHEN f.leased_by IS NOT NULL OR f.read_from_start_at <= now() - interval '1 minute' THEN 0
  WHEN f.read_to - f.safe_from <= 20000 THEN least(f.read_to, f.safe_from)
  ELSE least(f.read_to, (
    SELECT coalesce(max(m.seq), 0) FROM unnest(f.mark_xids, f.mark_seqs) AS m(xid, seq)
    WHERE m.xid < coalesce(
      (SELECT x.xid FROM pg_snapshot_xip(f.read_in) AS x(xid)
        WHERE pg_visible_in_snapshot(x.xid, (SELECT pg_current_snapshot())) ORDER BY x.xid LIMIT 1),
      pg_snapshot_xmax(f.read_in)))) END AS after FROM unnest(lanes) WITH ORDINALITY AS u(lane, place)
      CROSS JOIN LATERAL (SELECT * FROM saga.outbox_lane e WHERE e.lane = u.lane OFFSET 0) f OFFSET 0) l
    CROSS JOIN LATERAL (
      SELECT c.seq, c.id, c.topic, c.key, c.type, c.payload, c.headers, c.attempts, c.behind, c.bytes,
        sum(c.bytes) OVER (ORDER BY c.seq ROWS UNBOUNDED PRECEDING) - c.bytes AS before
      FROM (SELECT r.seq, r.id, r.topic, r.key, r.type, r.payload, r.headers, r.attempts, b.behind,
          CASE WHEN b.behind THEN 0 ELSE r.bytes END AS bytes
        FROM (SELECT o.seq, o.id, o.aggregatetype AS topic, o.aggregateid AS key, o.type, o.payload, o.headers, o.attempts,
            o.bytes
          FROM saga.outbox o WHERE o.lane = l.lane AND NOT o.held AND o.seq > l.after
          ORDER BY o.seq LIMIT share) r
        CROSS JOIN LATERAL (SELECT l.may_hold AND EXISTS (SELECT FROM saga.outbox h
          WHERE h.held AND h.lane = l.lane AND h.aggregatetype = r.topic AND h.aggregateid = r.key AND h.seq < r.seq)
          AS behind OFFSET 0) b) c
    ) o
    WHERE o.before < greatest(1, $5 / cardinality(lanes))
  ), held AS (
    UPDATE saga.outbox h SET held = true FROM read WHERE read.behind AND h.id = read.id
  ), pages AS (
    SELECT r.*, sum(r.bytes) OVER (ORDER BY r.place ROWS UNBOUNDED PRECEDING) - r.bytes AS before FROM (
      SELECT read.lane, min(read.place) AS place, min(read.after) AS after, max(read.seq) AS last, sum(read.bytes) AS bytes,
        bool_and(read.behind) AS nothing
      FROM read GROUP BY read.lane) r
  ), leased AS (
    UPDATE saga.outbox_lane l SET
      epoch = l.epoch + 1,
      leased_by = CASE WHEN NOT p.nothing THEN $1 END,
      leased_until = CASE WHEN p.nothing THEN '-infinity' ELSE now() + $2 * interval '1 millisecond' END,
      served_at = now(),
      read_to = p.last,
      read_in = pg_current_snapshot(),
      safe_from = (SELECT coalesce(max(m.seq), 0) FROM unnest(l.mark_xids, l.mark_seqs) AS m(xid, seq)
    WHERE m.xid < pg_snapshot_xmin(pg_current_snapshot())),
      may_hold = l.may_hold AND (p.after > 0 OR EXISTS (SELECT FROM saga.outbox h WHERE h.held AND h.lane = p.lane OFFSET 0)),
      read_from_start_at = CASE WHEN p.after = 0 THEN now() ELSE l.read_from_start_at END
    FROM pages p WHERE l.lane = p.lane AND p.before < $5
    RETURNING l.lane, l.epoch
  )
  SELECT read.lane, leased.epoch, read.seq, read.id, read.topic, read.key, read.type,
    CASE WHEN NOT read.behind THEN read.payload::text END, read.headers, read.attempts, read.behind
  FROM read JOIN leased ON leased.lane = read.lane ORDER BY read.lane, read.seq;

  GET DIAGNOSTICS taken = ROW_COUNT;
  IF taken >= $3 / 2 THEN UPDATE saga.relay r SET asleep = false WHERE r.asleep; END IF;
END $function$` as string,
  },
  outbox_settle: {
    folder: 'schema/messaging',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.outbox_settle(uuid[], uuid[], text[], int[], float8[], uuid[],
  smallint[], bigint[], boolean[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  line record;
  mine smallint[];
BEGIN
  SELECT array_agg(p.lane) FILTER (WHERE p.mine) INTO mine FROM (
    SELECT l.lane, l.epoch = w.epoch AS mine FROM unnest($7, $8) AS w(lane, epoch)
    JOIN saga.outbox_lane l ON l.lane = w.lane
    ORDER BY l.lane FOR UPDATE OF l) p;

  FOR line IN
    WITH deleted AS (
      DELETE FROM saga.outbox o USING unnest($1) AS w(id) WHERE o.id = w.id
      RETURNING o.lane, o.aggregatetype AS topic, o.aggregateid AS key, o.attempts, o.held)
    SELECT d.lane, d.topic, d.key FROM deleted d WHERE d.attempts > 0 OR d.held
  LOOP
    UPDATE saga.outbox o SET retry_at = now()
      FROM (SELECT b.id, b.dead_at, b.retry_at FROM saga.outbox b
        WHERE b.held AND b.lane = line.lane AND b.aggregatetype = line.topic AND b.aggregateid = line.key
        ORDER BY b.seq LIMIT 1) w
      WHERE o.id = w.id AND w.dead_at IS NULL AND w.retry_at IS NULL;
  END LOOP;

  UPDATE saga.outbox o SET
    held = true, attempts = w.attempts, error = w.error,
    retry_at = now() + w.delay * interval '1 millisecond',
    dead_at = CASE WHEN w.delay IS NULL THEN now() END
  FROM unnest($2, $3, $4, $5) AS w(id, error, attempts, delay)
  WHERE o.id = w.id AND o.lane = ANY(mine);
  FOR line IN
    WITH behind AS (
      UPDATE saga.outbox o SET held = true FROM unnest($6) AS w(id) WHERE o.id = w.id AND o.lane = ANY(mine)
      RETURNING o.lane, o.aggregatetype AS topic, o.aggregateid AS key)
    SELECT DISTINCT b.lane, b.topic, b.key FROM behind b
  LOOP
    UPDATE saga.outbox o SET retry_at = now()
      FROM (SELECT b.id, b.dead_at, b.retry_at FROM saga.outbox b
        WHERE b.held AND b.lane = line.lane AND b.aggregatetype = line.topic AND b.aggregateid = line.key
        ORDER BY b.seq LIMIT 1) w
      WHERE o.id = w.id AND w.dead_at IS NULL AND w.retry_at IS NULL;
  END LOOP;

  UPDATE saga.outbox_lane l SET
    leased_by = NULL, leased_until = '-infinity', read_to = CASE WHEN w.rest THEN 0 ELSE l.read_to END,
    may_hold = l.may_hold OR $2 <> '{}' OR $6 <> '{}',
    mark_xids = CASE WHEN cardinality(l.mark_xids) < 2 * 6 THEN l.mark_xids ELSE (
      SELECT coalesce(array_agg(m.xid ORDER BY m.xid), '{}') FROM (
        SELECT u.xid, u.seq, lead(u.xid) OVER w AS next, row_number() OVER w AS place, count(*) OVER () AS size
        FROM unnest(l.mark_xids, l.mark_seqs) AS u(xid, seq) WINDOW w AS (ORDER BY u.xid)) m
      WHERE (m.next IS NULL OR m.next >= pg_snapshot_xmin(l.read_in))
        AND (m.place = 1 OR m.place > m.size - 6)) END || pg_current_xact_id(),
  mark_seqs = CASE WHEN cardinality(l.mark_xids) < 2 * 6 THEN l.mark_seqs ELSE (
      SELECT coalesce(array_agg(m.seq ORDER BY m.xid), '{}') FROM (
        SELECT u.xid, u.seq, lead(u.xid) OVER w AS next, row_number() OVER w AS place, count(*) OVER () AS size
        FROM unnest(l.mark_xids, l.mark_seqs) AS u(xid, seq) WINDOW w AS (ORDER BY u.xid)) m
      WHERE (m.next IS NULL OR m.next >= pg_snapshot_xmin(l.read_in))
        AND (m.place = 1 OR m.place > m.size - 6)) END || l.read_to
  FROM unnest($7, $8, $9) AS w(lane, epoch, rest)
  WHERE l.lane = w.lane AND l.epoch = w.epoch;
END $function$` as string,
  },
  outbox_requeue: {
    folder: 'schema/messaging',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.outbox_requeue(uuid[]) RETURNS int LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  changed int;
BEGIN
  UPDATE saga.outbox o SET dead_at = NULL, attempts = 0, retry_at = now()
  FROM unnest($1) AS w(id) WHERE o.id = w.id AND o.dead_at IS NOT NULL;
  GET DIAGNOSTICS changed = ROW_COUNT;
  RETURN changed;
END $function$` as string,
  },
  outbox_discard: {
    folder: 'schema/messaging',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.outbox_discard(uuid[]) RETURNS int LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  gone record;
  changed int := 0;
BEGIN
  PERFORM FROM saga.outbox_lane l
  WHERE l.lane IN (SELECT o.lane FROM unnest($1) AS w(id) JOIN saga.outbox o ON o.id = w.id)
  ORDER BY l.lane FOR UPDATE;
  FOR gone IN
    WITH deleted AS (
      DELETE FROM saga.outbox o USING unnest($1) AS w(id) WHERE o.id = w.id AND o.dead_at IS NOT NULL
      RETURNING o.lane, o.aggregatetype AS topic, o.aggregateid AS key)
    SELECT * FROM deleted
  LOOP
    changed := changed + 1;
    UPDATE saga.outbox o SET retry_at = now()
      FROM (SELECT b.id, b.dead_at, b.retry_at FROM saga.outbox b
        WHERE b.held AND b.lane = gone.lane AND b.aggregatetype = gone.topic AND b.aggregateid = gone.key
        ORDER BY b.seq LIMIT 1) w
      WHERE o.id = w.id AND w.dead_at IS NULL AND w.retry_at IS NULL;
  END LOOP;
  RETURN changed;
END $function$` as string,
  },
  start_in_partitions: {
    folder: 'schema/partitioned',
    parameters: [],
    values: [
      'START_TYPES',
      'START_GIVEN',
      'START_COLUMNS',
      'STARTED_COLUMNS',
      'STARTED_VALUES',
      'PRIORITY_POINT_MS',
    ],
    text: `CREATE OR REPLACE FUNCTION saga.start(worker text, lease float8, :START_TYPES, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
  wanted int;
  free uuid[];
  late uuid[];
BEGIN
  SELECT count(*) INTO wanted FROM unnest(:START_GIVEN) AS w(:START_COLUMNS) WHERE w.correlation_id IS NOT NULL;
  IF wanted > 0 THEN
    WITH taken AS (
      INSERT INTO saga.correlation AS c (correlation_id, name, saga_id)
      SELECT w.correlation_id, w.name, w.id FROM unnest(:START_GIVEN) AS w(:START_COLUMNS) WHERE w.correlation_id IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING c.saga_id
    ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO free FROM taken;
    IF cardinality(free) < wanted THEN
      PERFORM FROM unnest(:START_GIVEN) AS w(:START_COLUMNS) CROSS JOIN LATERAL
        (SELECT FROM saga.correlation c WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id <> w.id FOR UPDATE) l;
      WITH taken AS (
        UPDATE saga.correlation c SET saga_id = w.id FROM unnest(:START_GIVEN) AS w(:START_COLUMNS)
        WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id <> w.id
          AND NOT EXISTS (SELECT FROM saga.instance o WHERE o.id = c.saga_id)
        RETURNING c.saga_id
      ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO late FROM taken;
      free := free || late;
    END IF;
  END IF;
  IF fresh THEN
    WITH i AS (INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest(:START_GIVEN) AS w(:START_COLUMNS)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t WHERE w.correlation_id IS NULL OR w.id = ANY(free) RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest(:START_GIVEN) AS w(:START_COLUMNS)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t WHERE w.correlation_id IS NULL OR w.id = ANY(free) ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  IF wanted > 0 AND cardinality(free) > 0 THEN
    DELETE FROM saga.correlation c USING unnest(:START_GIVEN) AS w(:START_COLUMNS)
    WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id = w.id AND w.id = ANY(free) AND NOT EXISTS (
      SELECT FROM saga.instance o WHERE o.id = w.id AND o.correlation_id = w.correlation_id AND o.name = w.name);
  END IF;
  RETURN coalesce(started, '{}');
END $function$` as string,
  },
  start_one_in_partitions: {
    folder: 'schema/partitioned',
    parameters: [],
    values: ['START_TYPES_ONE', 'START_GIVEN_ONE', 'STARTED_COLUMNS', 'STARTED_VALUES', 'PRIORITY_POINT_MS'],
    text: `CREATE OR REPLACE FUNCTION saga.start_one(worker text, lease float8, :START_TYPES_ONE, fresh boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
  wanted int;
  free uuid[];
  late uuid[];
BEGIN
  SELECT count(*) INTO wanted FROM (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w WHERE w.correlation_id IS NOT NULL;
  IF wanted > 0 THEN
    WITH taken AS (
      INSERT INTO saga.correlation AS c (correlation_id, name, saga_id)
      SELECT w.correlation_id, w.name, w.id FROM (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w WHERE w.correlation_id IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING c.saga_id
    ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO free FROM taken;
    IF cardinality(free) < wanted THEN
      PERFORM FROM (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w CROSS JOIN LATERAL
        (SELECT FROM saga.correlation c WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id <> w.id FOR UPDATE) l;
      WITH taken AS (
        UPDATE saga.correlation c SET saga_id = w.id FROM (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w
        WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id <> w.id
          AND NOT EXISTS (SELECT FROM saga.instance o WHERE o.id = c.saga_id)
        RETURNING c.saga_id
      ) SELECT coalesce(array_agg(taken.saga_id), '{}') INTO late FROM taken;
      free := free || late;
    END IF;
  END IF;
  IF fresh THEN
    WITH i AS (INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t WHERE w.correlation_id IS NULL OR w.id = ANY(free) RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (INSERT INTO saga.instance
      (:STARTED_COLUMNS, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT :STARTED_VALUES, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN worker END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval ':PRIORITY_POINT_MS milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('saga.lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + lease * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t WHERE w.correlation_id IS NULL OR w.id = ANY(free) ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  IF wanted > 0 AND cardinality(free) > 0 THEN
    DELETE FROM saga.correlation c USING (SELECT :START_GIVEN_ONE WHERE n_id IS NOT NULL) AS w
    WHERE c.correlation_id = w.correlation_id AND c.name = w.name AND c.saga_id = w.id AND w.id = ANY(free) AND NOT EXISTS (
      SELECT FROM saga.instance o WHERE o.id = w.id AND o.correlation_id = w.correlation_id AND o.name = w.name);
  END IF;
  RETURN coalesce(started, '{}');
END $function$` as string,
  },
  cleanup_in_partitions: {
    folder: 'schema/partitioned',
    parameters: [],
    values: ['SCHEMA', 'DELETION_KNOWN_FOR', 'DELETE_BELONGINGS'],
    text: `CREATE OR REPLACE FUNCTION saga.cleanup(text, float8, timestamptz, uuid, int, boolean, boolean)
RETURNS TABLE (looked int, gone int, place text, place_id uuid) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  roots uuid[];
  times timestamptz[];
  family uuid[];
  tops uuid[];
  free uuid[];
  kept uuid[];
BEGIN
  IF $7 AND NOT pg_try_advisory_xact_lock(1735356005, hashtext($q$:SCHEMA$q$)) THEN
    RETURN;
  END IF;
  IF $6 THEN
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (SELECT i.id, i.finished_at FROM saga.instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5) o;
  ELSE
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (SELECT i.id, i.finished_at FROM saga.instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5 FOR UPDATE SKIP LOCKED) o;
  END IF;
  IF NOT $6 THEN
    DELETE FROM saga.deleted d WHERE d.id = ANY (ARRAY(
      SELECT o.id FROM saga.deleted o WHERE o.at < now() - :DELETION_KNOWN_FOR * interval '1 millisecond' ORDER BY o.at LIMIT 2 * $5 FOR UPDATE SKIP LOCKED));
  END IF;
  looked := coalesce(cardinality(roots), 0);
  gone := 0;
  IF looked > 0 THEN
    place := times[looked]::text;
    place_id := roots[looked];
    WITH RECURSIVE f AS (
      SELECT r.id, r.id AS top FROM unnest(roots) AS r(id)
      UNION ALL
      SELECT c.id, f.top FROM f JOIN saga.instance c ON c.parent_id = f.id
    )
    SELECT array_agg(f.id), array_agg(f.top) INTO family, tops FROM f;
    IF $6 THEN
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM saga.instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL) e;
    ELSE
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM saga.instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL FOR UPDATE SKIP LOCKED) e;
    END IF;
    IF cardinality(free) < cardinality(family) THEN
      SELECT array_agg(w.top) INTO kept FROM unnest(family, tops) AS w(id, top) WHERE w.id <> ALL(free);
      SELECT array_agg(w.id) INTO family FROM unnest(family, tops) AS w(id, top) WHERE w.top <> ALL(kept);
    END IF;
    gone := coalesce(cardinality(family), 0);
    IF NOT $6 AND gone > 0 THEN
      INSERT INTO saga.deleted (id) SELECT i.id FROM saga.instance i
      WHERE i.id = ANY(family) AND i.finished_at > now() - :DELETION_KNOWN_FOR * interval '1 millisecond' ON CONFLICT (id) DO UPDATE SET at = now();
      :DELETE_BELONGINGS
      DELETE FROM saga.correlation c USING saga.instance g
      WHERE g.id = ANY(family) AND c.correlation_id = g.correlation_id AND c.name = g.name AND c.saga_id = g.id;
      DELETE FROM saga.instance i WHERE i.id = ANY(family);
    END IF;
  END IF;
  RETURN NEXT;
END $function$` as string,
  },
  plan_checkpoint_per_call: {
    folder: 'schema/partitioned',
    parameters: [],
    values: ['SAGA_TYPES', 'STEP_TYPES'],
    text: `ALTER FUNCTION saga.checkpoint(:SAGA_TYPES, :STEP_TYPES, boolean) SET plan_cache_mode = force_custom_plan` as string,
  },
  plan_checkpoint_one_per_call: {
    folder: 'schema/partitioned',
    parameters: [],
    values: ['SAGA_TYPES_ONE', 'STEP_TYPES_ONE'],
    text: `ALTER FUNCTION saga.checkpoint_one(:SAGA_TYPES_ONE, :STEP_TYPES_ONE, boolean) SET plan_cache_mode = force_custom_plan` as string,
  },
  partition_bound: {
    folder: 'schema/partitions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.partition_bound(bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN (lpad(to_hex($1), 12, '0') || repeat('0', 20))::uuid` as string,
  },
  partition_ahead: {
    folder: 'schema/partitions',
    parameters: [],
    values: ['SCHEMA', 'FIRST_MONDAY', 'PARTITIONED'],
    text: `CREATE OR REPLACE FUNCTION saga.partition_ahead(int) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = :SCHEMA, pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  settings record;
  it record;
  this bigint;
  start bigint;
  part text;
BEGIN
  IF NOT pg_try_advisory_xact_lock(1885434484, hashtext($q$:SCHEMA$q$)) THEN RETURN false; END IF;
  SELECT * INTO settings FROM saga.partitioning;
  this := floor((extract(epoch FROM now()) * 1000 - :FIRST_MONDAY) / settings.period) * settings.period + :FIRST_MONDAY;
  FOR n IN 0..$1 LOOP
    start := this + n * settings.period;
    CONTINUE WHEN start < settings.since;
    part := to_char(to_timestamp(start / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD');
    CONTINUE WHEN to_regclass(format('saga.instance_%s', part)) IS NOT NULL;
    FOR it IN SELECT * FROM (VALUES :PARTITIONED) AS t(name, key, fillfactor) LOOP
      EXECUTE format('LOCK TABLE saga.%s_rest IN ACCESS EXCLUSIVE MODE', it.name);
    END LOOP;
    FOR it IN SELECT * FROM (VALUES :PARTITIONED) AS t(name, key, fillfactor) LOOP
      EXECUTE format('CREATE TABLE saga.%1$s_%2$s (LIKE saga.%1$s INCLUDING DEFAULTS) WITH (fillfactor = %3$s)',
        it.name, part, it.fillfactor);
      EXECUTE format('WITH early AS (DELETE FROM saga.%1$s_rest WHERE %3$s >= $1 AND %3$s < $2 RETURNING *)
        INSERT INTO saga.%1$s_%2$s SELECT * FROM early', it.name, part, it.key)
        USING saga.partition_bound(start), saga.partition_bound(start + settings.period);
      EXECUTE format('ALTER TABLE saga.%1$s ATTACH PARTITION saga.%1$s_%2$s FOR VALUES FROM (%3$L) TO (%4$L)',
        it.name, part, saga.partition_bound(start), saga.partition_bound(start + settings.period));
    END LOOP;
    RETURN true;
  END LOOP;
  RETURN false;
END $function$` as string,
  },
  partition_keepers: {
    folder: 'schema/partitions',
    parameters: [],
    values: [],
    text: `CREATE OR REPLACE FUNCTION saga.partition_keepers(text, uuid, uuid, text[], float8[], int, uuid[])
RETURNS uuid[] LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS $function$
DECLARE
  ids uuid[];
BEGIN
  IF $7 IS NULL THEN
    EXECUTE format($q$
      SELECT array_agg(f.id) FROM (
        SELECT i.id FROM %1$s i WHERE i.parent_id IS NOT NULL AND (i.parent_id < $1 OR i.parent_id >= $2)
          AND EXISTS (SELECT FROM saga.instance o WHERE o.id = i.parent_id)
        UNION ALL
        SELECT i.id FROM %1$s i WHERE i.id IN (SELECT c.parent_id FROM saga.instance c
          WHERE c.parent_id >= $1 AND c.parent_id < $2 AND c.finished_at IS NULL AND (c.id < $1 OR c.id >= $2))
        LIMIT $3) f$q$, $1) INTO ids USING $2, $3, $6;
    RETURN coalesce(ids, '{}');
  END IF;
  EXECUTE format($q$
    WITH RECURSIVE kept AS (
      (SELECT i.id, i.parent_id FROM %1$s i WHERE i.id = ANY($1)
       UNION ALL
       SELECT i.id, i.parent_id FROM %1$s i WHERE i.rank_at IS NOT NULL
       UNION ALL
       SELECT i.id, i.parent_id FROM %1$s i WHERE i.rank_at IS NULL AND i.finished_at IS NULL
       UNION ALL
       SELECT y.id, NULL FROM (
         SELECT g.name, min(a.age) AS age FROM saga.graph g
         LEFT JOIN unnest($2, $3) AS a(name, age) ON a.name = g.name GROUP BY g.name) n
       CROSS JOIN LATERAL (SELECT i.id FROM %1$s i
         WHERE i.name = n.name AND i.finished_at IS NOT NULL AND i.parent_id IS NULL
           AND i.finished_at >= coalesce(now() - n.age * interval '1 millisecond', '-infinity') LIMIT $4) y
       LIMIT $4)
      UNION
      SELECT x.id, x.parent_id FROM kept k CROSS JOIN LATERAL (
        SELECT c.id, c.parent_id FROM %1$s c WHERE c.parent_id = k.id
        UNION ALL
        SELECT u.id, u.parent_id FROM %1$s u WHERE u.id = k.parent_id) x
    )
    SELECT array_agg(f.id) FROM (SELECT DISTINCT kept.id FROM kept LIMIT $4) f$q$, $1) INTO ids USING $7, $4, $5, $6;
  RETURN coalesce(ids, '{}');
END $function$` as string,
  },
  partition_drop: {
    folder: 'schema/partitions',
    parameters: [],
    values: ['SCHEMA', 'IS_RAISED', 'NOT_READ_COMMITTED', 'PARTITIONED'],
    text: `CREATE OR REPLACE FUNCTION saga.partition_drop(text, uuid, uuid, text[], float8[], int) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = :SCHEMA, pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  part text := format('saga.instance_%s', $1);
  it record;
  held uuid[];
  kept uuid[];
BEGIN
IF NOT has_table_privilege(session_user, 'saga.instance', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = format('permission denied for table instance: role %s may not delete', session_user);
  END IF;
IF :IS_RAISED THEN
    RAISE EXCEPTION 'partitions are dropped at READ COMMITTED only' USING ERRCODE = :NOT_READ_COMMITTED;
  END IF;
  IF $1 !~ '^([0-9]{8}|before)$' OR to_regclass(part) IS NULL OR NOT pg_try_advisory_xact_lock(1885434484, hashtext($q$:SCHEMA$q$)) THEN RETURN NULL; END IF;
  held := saga.partition_keepers(part, $2, $3, $4, $5, $6 + 1, NULL);
  IF cardinality(held) > $6
    OR cardinality(saga.partition_keepers(part, $2, $3, $4, $5, $6 + 1, held)) > $6
  THEN RETURN -1; END IF;
  FOR it IN SELECT * FROM (VALUES :PARTITIONED) AS t(name, key, fillfactor) LOOP
    EXECUTE format('LOCK TABLE ONLY saga.%s IN ACCESS EXCLUSIVE MODE', it.name);
  END LOOP;
  FOR it IN SELECT * FROM (VALUES :PARTITIONED) AS t(name, key, fillfactor) LOOP
    EXECUTE format('LOCK TABLE saga.%s_%s IN ACCESS EXCLUSIVE MODE', it.name, $1);
  END LOOP;
  kept := saga.partition_keepers(part, $2, $3, $4, $5, $6 + 1, held);
  IF cardinality(kept) > $6 THEN RETURN -1; END IF;
  FOR it IN SELECT * FROM (VALUES :PARTITIONED) AS t(name, key, fillfactor) LOOP
    EXECUTE format('ALTER TABLE saga.%1$s DETACH PARTITION saga.%1$s_%2$s', it.name, $1);
    IF cardinality(kept) > 0 THEN
      EXECUTE format('WITH moved AS (DELETE FROM saga.%1$s_%2$s WHERE %3$s = ANY($1) RETURNING *)
        INSERT INTO saga.%1$s SELECT * FROM moved', it.name, $1, it.key) USING kept;
    END IF;
  END LOOP;
  FOR it IN SELECT * FROM (VALUES :PARTITIONED) AS t(name, key, fillfactor) LOOP
    CONTINUE WHEN it.name = 'instance';
    EXECUTE format('DROP TABLE saga.%s_%s', it.name, $1);
  END LOOP;
  RETURN cardinality(kept);
END $function$` as string,
  },
  partition_forget: {
    folder: 'schema/partitions',
    parameters: [],
    values: ['SCHEMA'],
    text: `CREATE OR REPLACE FUNCTION saga.partition_forget(text, uuid, int) RETURNS uuid LANGUAGE plpgsql
SECURITY DEFINER SET search_path = :SCHEMA, pg_temp AS $function$
DECLARE
  part regclass := to_regclass(format('saga.instance_%s', $1));
  ids uuid[];
BEGIN
IF NOT has_table_privilege(session_user, 'saga.instance', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = format('permission denied for table instance: role %s may not delete', session_user);
  END IF;
  IF $1 !~ '^([0-9]{8}|before)$' OR part IS NULL OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = part) THEN RETURN NULL; END IF;
  EXECUTE format('SELECT array_agg(f.id) FROM (SELECT id FROM %s WHERE id > $1 ORDER BY id LIMIT $2) f', part)
    INTO ids USING $2, $3;
  EXECUTE format('DELETE FROM saga.correlation c USING %s g WHERE g.id = ANY($1)
    AND c.correlation_id = g.correlation_id AND c.name = g.name AND c.saga_id = g.id', part) USING ids;
  IF coalesce(cardinality(ids), 0) < $3 THEN
    EXECUTE format('DROP TABLE %s', part);
    RETURN NULL;
  END IF;
  RETURN ids[cardinality(ids)];
END $function$` as string,
  },
} as const;

export const STATEMENTS = {
  unsaved: sqlStatement({
    folder: 'checkpoint',
    parameters: ['ids'],
    values: ['BEYOND'],
    text: `SELECT id, epoch, checkpoints FROM saga.instance WHERE id = ANY($1::uuid[])
UNION ALL
SELECT d.id, :BEYOND, :BEYOND FROM saga.deleted d WHERE d.id = ANY($1::uuid[])
  AND NOT EXISTS (SELECT FROM saga.instance i WHERE i.id = d.id)` as string,
  }),
  claim: sqlStatement({
    folder: 'claim',
    parameters: ['names', 'versions', 'room', 'worker', 'lease', 'pageBytes', 'bytes', 'isAlone', 'fromRank'],
    values: [] as never[],
    text: `SELECT * FROM saga.claim($1, $2, $3, $4, $5, $6, $7, $8, $9)` as string,
  }),
  claimLimited: sqlStatement({
    folder: 'claim',
    parameters: ['names', 'versions', 'limits', 'otherNames', 'otherVersions', 'room', 'worker', 'lease'],
    values: [] as never[],
    text: `SELECT taken, epochs, clock AS now, next_due_at
FROM saga.claim_limited($1, $2, $3, $4, $5, $6, $7, $8)` as string,
  }),
  claimKeyed: sqlStatement({
    folder: 'claim',
    parameters: ['names', 'versions', 'limits', 'otherNames', 'otherVersions', 'room', 'worker', 'lease'],
    values: [] as never[],
    text: `SELECT taken, epochs, clock AS now, next_due_at
FROM saga.claim_keyed($1, $2, $3, $4, $5, $6, $7, $8)` as string,
  }),
  enqueue: sqlStatement({
    folder: 'claim',
    parameters: ['ids', 'epochs', 'names', 'keys'],
    values: [] as never[],
    text: `SELECT ready AS id, deadline, held, deadlock, cancelled, reason FROM saga.lock_enqueue($1, $2, $3, $4)` as string,
  }),
  stayQueued: sqlStatement({
    folder: 'claim',
    parameters: ['id'],
    values: [] as never[],
    text: `UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1::uuid` as string,
  }),
  claimed: sqlStatement({
    folder: 'claim',
    parameters: ['ids', 'epochs', 'worker', 'pageBytes'],
    values: ['STORED_FIELDS', 'STEP_FIELDS_JSON'],
    text: `WITH found AS MATERIALIZED (SELECT ARRAY(SELECT i.id FROM unnest((SELECT $1::uuid[]), (SELECT $2::int[])) WITH ORDINALITY AS w(id, epoch, place)
CROSS JOIN LATERAL (SELECT * FROM saga.instance h
  WHERE h.id = w.id AND h.epoch = w.epoch AND h.locked_by = $3::text LIMIT 1) i ORDER BY w.place) AS ids),
paged AS MATERIALIZED (SELECT f.ids AS found, p.ids, p.in_parts FROM found f CROSS JOIN LATERAL saga.page(f.ids, $4::bigint) p)
SELECT cardinality(paged.found) > cardinality(paged.ids) AS more, t.*
FROM paged CROSS JOIN LATERAL (
  SELECT w.place, :STORED_FIELDS, coalesce(paged.in_parts, false) AS "inParts",
  CASE WHEN paged.in_parts THEN NULL ELSE (SELECT json_agg(json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8, 'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8))
    FROM saga.step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN paged.in_parts THEN NULL ELSE CASE WHEN i.signals > 0 THEN (SELECT json_agg(json_build_object('number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text,
  'at', (extract(epoch FROM g.sent_at) * 1000)::float8) ORDER BY g.number)
    FROM saga.signal g
    WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END END AS signals
  FROM unnest(paged.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM saga.instance h WHERE h.id = w.id LIMIT 1) i) t
ORDER BY t.place` as string,
  }),
  giveBack: sqlStatement({
    folder: 'claim',
    parameters: ['delay', 'ids', 'epochs', 'worker'],
    values: ['PRIORITY_POINT_MS'],
    text: `UPDATE saga.instance u SET
  locked_by = NULL,
  due_at = now() + $1::float8 * interval '1 millisecond',
  rank_at = now() + ($1::float8 - u.priority * :PRIORITY_POINT_MS) * interval '1 millisecond'
WHERE u.id = ANY(ARRAY(
  SELECT l.id FROM saga.instance l
  WHERE l.id = ANY(ARRAY(SELECT i.id FROM unnest((SELECT $2::uuid[]), (SELECT $3::int[])) WITH ORDINALITY AS w(id, epoch, place)
CROSS JOIN LATERAL (SELECT * FROM saga.instance h
  WHERE h.id = w.id AND h.epoch = w.epoch AND h.locked_by = $4::text LIMIT 1) i)) AND l.locked_by = $4::text
  ORDER BY l.id FOR NO KEY UPDATE))` as string,
  }),
  renew: sqlStatement({
    folder: 'claim',
    parameters: ['ids', 'epochs', 'seen', 'worker', 'lease'],
    values: [] as never[],
    text: `WITH w AS (
  SELECT * FROM unnest((SELECT $1::uuid[]), (SELECT $2::int[]), (SELECT $3::float8[])) AS w(id, epoch, seen)
), held AS MATERIALIZED (
  SELECT i.id, w.seen FROM w JOIN saga.instance i ON i.id = w.id AND i.epoch = w.epoch AND i.locked_by = $4::text
  ORDER BY i.id FOR NO KEY UPDATE OF i
), renewed AS (
  UPDATE saga.instance i SET
    due_at = now() + $5::float8 * interval '1 millisecond',
    rank_at = now() + $5::float8 * interval '1 millisecond',
    leased_at = CASE WHEN to_timestamp(h.seen / 1000) > now() + interval '1 second'
      THEN greatest(i.leased_at, to_timestamp(h.seen / 1000)) ELSE i.leased_at END
  FROM held h WHERE i.id = h.id
RETURNING i.id, i.cancel_requested_at IS NOT NULL AS cancel_requested, i.cancel_reason, i.pause_requested
)
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now, r.id, r.cancel_requested, r.cancel_reason, r.pause_requested
FROM (SELECT 1) one LEFT JOIN renewed r ON true` as string,
  }),
  report: sqlStatement({
    folder: 'claim',
    parameters: ['ids', 'epochs', 'seen', 'reports', 'worker', 'lease'],
    values: [] as never[],
    text: `WITH w AS (
  SELECT * FROM unnest((SELECT $1::uuid[]), (SELECT $2::int[]), (SELECT $3::float8[]), (SELECT $4::text[]))
    AS w(id, epoch, seen, reports)
), held AS MATERIALIZED (
  SELECT i.id, w.seen, w.reports FROM w JOIN saga.instance i ON i.id = w.id AND i.epoch = w.epoch AND i.locked_by = $5::text
  ORDER BY i.id FOR NO KEY UPDATE OF i
), renewed AS (
  UPDATE saga.instance i SET
    due_at = now() + $6::float8 * interval '1 millisecond',
    rank_at = now() + $6::float8 * interval '1 millisecond',
    leased_at = CASE WHEN to_timestamp(h.seen / 1000) > now() + interval '1 second'
      THEN greatest(i.leased_at, to_timestamp(h.seen / 1000)) ELSE i.leased_at END,
    reports = coalesce(h.reports::json, i.reports)
  FROM held h WHERE i.id = h.id
RETURNING i.id, i.cancel_requested_at IS NOT NULL AS cancel_requested, i.cancel_reason, i.pause_requested
)
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now, r.id, r.cancel_requested, r.cancel_reason, r.pause_requested
FROM (SELECT 1) one LEFT JOIN renewed r ON true` as string,
  }),
  lockQueues: sqlStatement({
    folder: 'claim',
    parameters: ['names', 'keys'],
    values: [] as never[],
    text: `SELECT saga.lock_queues($1, $2)` as string,
  }),
  dequeue: sqlStatement({
    folder: 'claim',
    parameters: ['ids'],
    values: [] as never[],
    text: `SELECT saga.lock_dequeue($1)` as string,
  }),
  handOver: sqlStatement({
    folder: 'claim',
    parameters: ['name', 'key'],
    values: [] as never[],
    text: `SELECT saga.lock_hand_over($1, $2)` as string,
  }),
  reserve: sqlStatement({
    folder: 'claim',
    parameters: ['saga', 'step', 'key', 'count', 'per', 'attempts', 'ahead', 'holder', 'unused'],
    values: [] as never[],
    text: `SELECT times, clock AS now FROM saga.reserve($1, $2, $3, $4, $5, $6, $7, $8, $9)` as string,
  }),
  catchUp: sqlStatement({
    folder: 'claim',
    parameters: ['names', 'versions'],
    values: [] as never[],
    text: `SELECT saga.catch_up($1, $2)` as string,
  }),
  takeSlots: sqlStatement({
    folder: 'claim',
    parameters: ['saga', 'step', 'key', 'count', 'id', 'epoch', 'turn', 'steps'],
    values: [] as never[],
    text: `SELECT saga.take_slots($1, $2, $3, $4, $5, $6, $7, $8) AS taken` as string,
  }),
  freeSlots: sqlStatement({
    folder: 'claim',
    parameters: ['saga', 'step', 'key', 'count', 'id', 'epoch', 'turn', 'steps'],
    values: [] as never[],
    text: `SELECT saga.free_slots($1, $2, $3, $4, $5, $6, $7, $8)` as string,
  }),
  fenceSlots: sqlStatement({
    folder: 'claim',
    parameters: ['names'],
    values: [] as never[],
    text: `SELECT saga.fence_slots($1)` as string,
  }),
  sweepSlots: sqlStatement({
    folder: 'claim',
    parameters: ['names', 'versions', 'limitNames', 'limitVersions', 'limitSteps', 'limitCounts'],
    values: [] as never[],
    text: `SELECT saga.sweep_slots($1, $2, $3, $4, $5, $6)` as string,
  }),
  loadById: sqlStatement({
    folder: 'edit',
    parameters: ['pageBytes', 'id'],
    values: ['STORED_FIELDS', 'STEP_FIELDS_JSON', 'LOADED_OPERATIONS', 'AROUND_FIELDS'],
    text: `SELECT :STORED_FIELDS, coalesce(p.in_parts, false) AS "inParts",
  CASE WHEN p.in_parts THEN NULL ELSE (SELECT json_agg(json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8, 'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8))
    FROM saga.step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN p.in_parts THEN NULL ELSE CASE WHEN i.signals > 0 THEN (SELECT json_agg(json_build_object('number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text,
  'at', (extract(epoch FROM g.sent_at) * 1000)::float8) ORDER BY g.number)
    FROM saga.signal g
    WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END END AS signals, (extract(epoch FROM now()) * 1000)::float8 AS now,
  CASE WHEN i.lock_state IN ('arriving', 'waiting') THEN saga.lock_holder(i.name, i.lock_key) END AS "lockHolder",
  CASE WHEN i.due_at <= now() THEN saga.slots_taken(i.name, i.limit_key) END AS "slotsTaken",
  :LOADED_OPERATIONS AS operations, :AROUND_FIELDS
FROM saga.instance i CROSS JOIN LATERAL saga.page(ARRAY[i.id], $1::bigint) p WHERE i.id = $2::uuid` as string,
  }),
  idByCorrelation: sqlStatement({
    folder: 'edit',
    parameters: ['name', 'correlationId', 'id'],
    values: [] as never[],
    text: `SELECT id FROM saga.instance WHERE name = $1 AND correlation_id = $2
UNION ALL
SELECT id FROM saga.instance WHERE id = $3::uuid AND name = $1 AND correlation_id IS NULL
LIMIT 1` as string,
  }),
  lock: sqlStatement({
    folder: 'edit',
    parameters: ['id'],
    values: [] as never[],
    text: `SELECT id FROM saga.instance WHERE id = $1::uuid FOR UPDATE` as string,
  }),
  fenceOff: sqlStatement({
    folder: 'edit',
    parameters: ['input', 'version', 'id'],
    values: [] as never[],
    text: `UPDATE saga.instance SET epoch = epoch + 1, cancel_requested_at = NULL, cancel_reason = NULL, pause_requested = false,
  input = coalesce($1::json, input), input_replaced = input_replaced OR $1::json IS NOT NULL,
  started_input = CASE WHEN $1::json IS NOT NULL AND NOT input_replaced THEN input ELSE started_input END,
  version = coalesce($2::int, version), graph_revision = CASE WHEN $2::int IS NULL THEN graph_revision END,
  lock_state = CASE WHEN lock_state IS NULL AND lock_key IS NOT NULL AND (instance.status = 'compensating' AND coalesce(instance.failure ->> 'kind', '') = 'undone') THEN 'arriving'
    ELSE lock_state END,
  lock_deadlock = CASE WHEN (instance.status = 'compensating' AND coalesce(instance.failure ->> 'kind', '') = 'undone') THEN NULL ELSE lock_deadlock END
WHERE id = $3::uuid` as string,
  }),
  requestCancel: sqlStatement({
    folder: 'edit',
    parameters: ['reason', 'id'],
    values: [] as never[],
    text: `UPDATE saga.instance SET cancel_requested_at = now(), cancel_reason = $1, pause_requested = false
WHERE id = $2::uuid AND cancel_requested_at IS NULL` as string,
  }),
  endTask: sqlStatement({
    folder: 'edit',
    parameters: ['id', 'step'],
    values: [] as never[],
    text: `DELETE FROM saga.task WHERE saga_id = $1::uuid AND step = $2` as string,
  }),
  requestPause: sqlStatement({
    folder: 'edit',
    parameters: ['id'],
    values: [] as never[],
    text: `UPDATE saga.instance SET pause_requested = true WHERE id = $1::uuid` as string,
  }),
  putBack: sqlStatement({
    folder: 'edit',
    parameters: [
      'epoch',
      'worker',
      'lease',
      'startedAt',
      'parentId',
      'parentStep',
      'lastSignal',
      'startsAt',
      'id',
    ],
    values: [] as never[],
    text: `UPDATE saga.instance i SET epoch = $1::int, locked_by = $2::text,
  leased_at = CASE WHEN i.locked_by = $2::text THEN i.leased_at WHEN $2::text IS NOT NULL THEN now() END,
  due_at = CASE WHEN $2::text IS NULL THEN i.due_at ELSE now() + $3::float8 * interval '1 millisecond' END,
  rank_at = CASE WHEN $2::text IS NULL THEN i.rank_at ELSE now() + $3::float8 * interval '1 millisecond' END,
  created_at = coalesce(to_timestamp($4::float8 / 1000), i.created_at),
  parent_id = coalesce(i.parent_id, $5::uuid), parent_step = coalesce(i.parent_step, $6::text),
  signals = greatest(i.signals, $7::int), starts_at = to_timestamp($8::float8 / 1000),
  lock_position = CASE WHEN $4::float8 IS NULL THEN i.lock_position ELSE (SELECT min(o.lock_position) - 1
    FROM saga.instance o WHERE o.name = i.name AND o.lock_key = i.lock_key AND o.lock_state IS NOT NULL) END
WHERE i.id = $9::uuid` as string,
  }),
  putBackTime: sqlStatement({
    folder: 'edit',
    parameters: ['updatedAt', 'id'],
    values: [] as never[],
    text: `UPDATE saga.instance SET updated_at = to_timestamp($1::float8 / 1000) WHERE id = $2::uuid` as string,
  }),
  operation: sqlStatement({
    folder: 'edit',
    parameters: [
      'sagaId',
      'id',
      'action',
      'operator',
      'reason',
      'step',
      'fromStatus',
      'revision',
      'proposed',
      'newInput',
      'given',
    ],
    values: [] as never[],
    text: `INSERT INTO saga.operation
  (saga_id, number, id, action, operator, reason, step, from_status, revision, proposed, new_input, given)
SELECT $1::uuid, coalesce(max(o.number), 0) + 1, $2::uuid, $3, $4, $5, $6, $7, $8::int, $9::boolean, $10::boolean, $11::json
FROM saga.operation o WHERE o.saga_id = $1::uuid` as string,
  }),
  history: sqlStatement({
    folder: 'edit',
    parameters: ['sagaId', 'limit'],
    values: ['SHOWN_OPERATION', 'APPROVAL_PREFIX'],
    text: `SELECT entry FROM (
  SELECT * FROM (
    (SELECT o.at, :SHOWN_OPERATION AS entry FROM saga.operation o
     WHERE o.saga_id = $1::uuid ORDER BY o.number DESC LIMIT $2)
    UNION ALL
    (SELECT g.sent_at, json_build_object('action', 'signal', 'signal', g.name,
       'at', (extract(epoch FROM g.sent_at) * 1000)::float8)
     FROM saga.signal g WHERE g.saga_id = $1::uuid AND NOT starts_with(g.name, :APPROVAL_PREFIX)
     ORDER BY g.number DESC LIMIT $2)
  ) entries ORDER BY at DESC LIMIT $2
) latest ORDER BY at` as string,
  }),
  stepPauses: sqlStatement({
    folder: 'pauses',
    parameters: ['resumed'],
    values: [] as never[],
    text: `SELECT p.saga, p.step, (extract(epoch FROM p.paused_at) * 1000)::float8 AS paused_at, p.paused_by, p.pause_reason,
  (extract(epoch FROM p.resumed_at) * 1000)::float8 AS resumed_at, p.resumed_by, p.resume_reason, p.woken, (extract(epoch FROM now()) * 1000)::float8 AS now
FROM (SELECT) one LEFT JOIN (
  (SELECT * FROM saga.step_pause WHERE NOT woken)
  UNION ALL
  (SELECT * FROM saga.step_pause WHERE woken ORDER BY id DESC LIMIT $1)) p ON true
ORDER BY p.woken, CASE WHEN p.woken THEN -p.id ELSE p.id END` as string,
  }),
  pauseStep: sqlStatement({
    folder: 'pauses',
    parameters: ['saga', 'step', 'by', 'reason', 'channel'],
    values: [] as never[],
    text: `WITH paused AS (
  INSERT INTO saga.step_pause (saga, step, paused_by, pause_reason) VALUES ($1, $2, $3, $4)
  ON CONFLICT (saga, step) WHERE resumed_at IS NULL DO NOTHING RETURNING id)
SELECT pg_notify($5, 'pauses') FROM paused` as string,
  }),
  resumeStep: sqlStatement({
    folder: 'pauses',
    parameters: ['by', 'reason', 'saga', 'step', 'channel'],
    values: [] as never[],
    text: `WITH resumed AS (
  UPDATE saga.step_pause SET resumed_at = now(), resumed_by = $1, resume_reason = $2
  WHERE saga = $3 AND step = $4 AND resumed_at IS NULL RETURNING id)
SELECT pg_notify($5, 'pauses') FROM resumed` as string,
  }),
  resumed: sqlStatement({
    folder: 'pauses',
    parameters: ['saga', 'step'],
    values: [] as never[],
    text: `SELECT id::text AS id FROM saga.step_pause
WHERE saga = $1 AND step = $2 AND resumed_at IS NOT NULL AND NOT woken` as string,
  }),
  wakeIdle: sqlStatement({
    folder: 'pauses',
    parameters: ['saga', 'step', 'version', 'id', 'rank', 'limit'],
    values: ['IN_PROGRESS', 'PRIORITY_POINT_MS'],
    text: `WITH picked AS MATERIALIZED (
  SELECT i.id, i.version, i.rank_at FROM saga.instance i
  WHERE i.name = $1 AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND i.finished_at IS NULL
  AND string_to_array(i.step, ', ') @> ARRAY[$2::text] AND i.rank_at IS NULL AND (i.version, i.id) > ($3::int, $4::uuid) AND $5::timestamptz IS NOT NULL ORDER BY i.version, i.id LIMIT $6
), woken AS (
  UPDATE saga.instance u SET due_at = now(), updated_at = now(),
    rank_at = now() - u.priority * interval ':PRIORITY_POINT_MS milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM saga.instance i WHERE i.name = $1 AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND i.finished_at IS NULL
  AND string_to_array(i.step, ', ') @> ARRAY[$2::text] AND i.rank_at IS NULL AND i.id = ANY(ARRAY(SELECT p.id FROM picked p))
    ORDER BY i.id FOR NO KEY UPDATE)))
SELECT (SELECT count(*)::int FROM picked) AS count, i.version, coalesce(i.rank_at::text, '-infinity') AS rank, i.id
FROM picked i ORDER BY i.version DESC, i.id DESC LIMIT 1` as string,
  }),
  wakeLater: sqlStatement({
    folder: 'pauses',
    parameters: ['saga', 'step', 'version', 'rank', 'id', 'limit'],
    values: ['IN_PROGRESS', 'PRIORITY_POINT_MS'],
    text: `WITH picked AS MATERIALIZED (
  SELECT i.id, i.version, i.rank_at FROM saga.instance i
  WHERE i.name = $1 AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND i.finished_at IS NULL
  AND string_to_array(i.step, ', ') @> ARRAY[$2::text] AND i.rank_at IS NOT NULL AND i.due_at > now() AND (i.version, i.rank_at, i.id) > ($3::int, $4::timestamptz, $5::uuid) ORDER BY i.version, i.rank_at, i.id LIMIT $6
), woken AS (
  UPDATE saga.instance u SET due_at = now(), updated_at = now(),
    rank_at = now() - u.priority * interval ':PRIORITY_POINT_MS milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM saga.instance i WHERE i.name = $1 AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND i.finished_at IS NULL
  AND string_to_array(i.step, ', ') @> ARRAY[$2::text] AND i.rank_at IS NOT NULL AND i.due_at > now() AND i.id = ANY(ARRAY(SELECT p.id FROM picked p))
    ORDER BY i.id FOR NO KEY UPDATE)))
SELECT (SELECT count(*)::int FROM picked) AS count, i.version, coalesce(i.rank_at::text, '-infinity') AS rank, i.id
FROM picked i ORDER BY i.version DESC, i.rank_at DESC, i.id DESC LIMIT 1` as string,
  }),
  woken: sqlStatement({
    folder: 'pauses',
    parameters: ['ids'],
    values: [] as never[],
    text: `UPDATE saga.step_pause SET woken = true WHERE id = ANY($1::bigint[])` as string,
  }),
  markOverdue: sqlStatement({
    folder: 'read',
    parameters: ['names', 'limit'],
    values: ['OVERDUE_FIELDS'],
    text: `WITH marked AS (
  UPDATE saga.instance i SET overdue = true
  WHERE i.id = ANY(ARRAY(
    SELECT d.id FROM saga.instance d
    WHERE d.sla_at <= now() AND NOT d.overdue AND d.finished_at IS NULL AND d.name = ANY($1::text[])
    ORDER BY d.sla_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED))
  RETURNING i.id, i.name, i.version, i.correlation_id, i.status, i.step, i.sla_at
)
SELECT :OVERDUE_FIELDS
FROM marked m ORDER BY m.sla_at` as string,
  }),
  stats: sqlStatement({
    folder: 'read',
    parameters: [] as never[],
    values: ['MOST_MESSAGES'],
    text: `WITH unfinished AS (
  SELECT name, version, status, count(*)::int AS count, (count(*) FILTER (WHERE due_at <= now()))::int AS due,
    min(due_at) FILTER (WHERE due_at <= now()) AS oldest
  FROM saga.instance WHERE rank_at IS NOT NULL GROUP BY name, version, status
  UNION ALL
  SELECT name, version, coalesce(idle_status, 'running'), count(*)::int, 0, NULL
  FROM saga.instance WHERE rank_at IS NULL AND finished_at IS NULL GROUP BY name, version, idle_status
), messages AS (
  SELECT min(f.created_at) AS oldest FROM saga.outbox_lane l CROSS JOIN LATERAL (
    (SELECT o.created_at FROM saga.outbox o WHERE o.lane = l.lane AND NOT o.held ORDER BY o.seq LIMIT 1)
    UNION ALL
    (SELECT o.created_at FROM saga.outbox o WHERE o.lane = l.lane AND o.retry_at IS NOT NULL LIMIT :MOST_MESSAGES)) f
)
SELECT (extract(epoch FROM now()) * 1000)::float8 AS now,
  coalesce((SELECT json_agg(json_build_object('name', g.name, 'version', g.version, 'status', g.status, 'count', g.count)
     ORDER BY g.name, g.version, g.status)
   FROM (SELECT name, version, status, sum(count)::int AS count FROM unfinished GROUP BY name, version, status) g), '[]') AS sagas,
  (SELECT coalesce(sum(due), 0)::int FROM unfinished) AS due,
  (SELECT (extract(epoch FROM min(oldest)) * 1000)::float8 FROM unfinished) AS "oldestDue",
  (SELECT count(*)::int FROM saga.instance WHERE overdue AND finished_at IS NULL) AS overdue,
  coalesce((SELECT json_agg(json_build_object('saga', p.saga, 'step', p.step) ORDER BY p.id)
   FROM saga.step_pause p WHERE p.resumed_at IS NULL), '[]') AS "pausedSteps",
  (SELECT count(*)::int FROM (SELECT 1 FROM saga.outbox LIMIT :MOST_MESSAGES) o) AS messages,
  (SELECT count(*)::int FROM (SELECT 1 FROM saga.outbox WHERE dead_at IS NOT NULL LIMIT :MOST_MESSAGES) d) AS dead,
  (SELECT (extract(epoch FROM oldest) * 1000)::float8 FROM messages) AS "oldestMessage"` as string,
  }),
  schedules: sqlStatement({
    folder: 'read',
    parameters: [] as never[],
    values: [] as never[],
    text: `SELECT s.saga, s.cron, s.timezone, s.overlap, s.catch_up, (extract(epoch FROM s.decided_until) * 1000)::float8 AS decided_until,
  (extract(epoch FROM s.next_at) * 1000)::float8 AS next_at, (extract(epoch FROM s.paused_at) * 1000)::float8 AS paused_at, s.paused_by, s.pause_reason, s.last_saga,
  (extract(epoch FROM s.last_at) * 1000)::float8 AS last_at, s.last_triggered, (extract(epoch FROM s.skipped_at) * 1000)::float8 AS skipped_at, (extract(epoch FROM now()) * 1000)::float8 AS now,
  (SELECT i.status FROM saga.instance i WHERE i.id = s.last_saga AND i.finished_at IS NULL) AS last_status
FROM (SELECT) one LEFT JOIN saga.schedule s ON true
ORDER BY s.saga COLLATE "C"` as string,
  }),
  lockSchedule: sqlStatement({
    folder: 'read',
    parameters: ['saga'],
    values: [] as never[],
    text: `SELECT s.saga, s.cron, s.timezone, s.overlap, s.catch_up, (extract(epoch FROM s.decided_until) * 1000)::float8 AS decided_until,
  (extract(epoch FROM s.next_at) * 1000)::float8 AS next_at, (extract(epoch FROM s.paused_at) * 1000)::float8 AS paused_at, s.paused_by, s.pause_reason, s.last_saga,
  (extract(epoch FROM s.last_at) * 1000)::float8 AS last_at, s.last_triggered, (extract(epoch FROM s.skipped_at) * 1000)::float8 AS skipped_at, NULL AS last_status, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
FROM saga.schedule s WHERE s.saga = $1 FOR NO KEY UPDATE` as string,
  }),
  clock: sqlStatement({
    folder: 'read',
    parameters: [] as never[],
    values: [] as never[],
    text: `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now` as string,
  }),
  unended: sqlStatement({
    folder: 'read',
    parameters: ['id'],
    values: [] as never[],
    text: `SELECT status FROM saga.instance WHERE id = $1::uuid AND finished_at IS NULL` as string,
  }),
  insertSchedule: sqlStatement({
    folder: 'read',
    parameters: [
      'saga',
      'cron',
      'timezone',
      'overlap',
      'catchUp',
      'decidedUntil',
      'nextAt',
      'pausedAt',
      'pausedBy',
      'pauseReason',
      'lastSaga',
      'lastAt',
      'lastTriggered',
      'skippedAt',
    ],
    values: [] as never[],
    text: `INSERT INTO saga.schedule (saga, cron, timezone, overlap, catch_up, decided_until, next_at, paused_at, paused_by,
  pause_reason, last_saga, last_at, last_triggered, skipped_at)
VALUES ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), to_timestamp($7::float8 / 1000), to_timestamp($8::float8 / 1000), $9, $10,
  $11::uuid, to_timestamp($12::float8 / 1000), $13::boolean, to_timestamp($14::float8 / 1000)) ON CONFLICT DO NOTHING RETURNING saga` as string,
  }),
  updateSchedule: sqlStatement({
    folder: 'read',
    parameters: [
      'cron',
      'timezone',
      'overlap',
      'catchUp',
      'decidedUntil',
      'nextAt',
      'pausedAt',
      'pausedBy',
      'pauseReason',
      'lastSaga',
      'lastAt',
      'lastTriggered',
      'skippedAt',
      'saga',
    ],
    values: [] as never[],
    text: `UPDATE saga.schedule SET (cron, timezone, overlap, catch_up, decided_until, next_at, paused_at, paused_by,
  pause_reason, last_saga, last_at, last_triggered, skipped_at) = ROW($1, $2, $3, $4, to_timestamp($5::float8 / 1000), to_timestamp($6::float8 / 1000), to_timestamp($7::float8 / 1000), $8, $9,
  $10::uuid, to_timestamp($11::float8 / 1000), $12::boolean, to_timestamp($13::float8 / 1000))
WHERE saga = $14` as string,
  }),
  watch: sqlStatement({
    folder: 'read',
    parameters: ['ids'],
    values: ['SETTLED'],
    text: `UPDATE saga.instance SET watched = true
WHERE id = ANY(ARRAY(
  SELECT id FROM saga.instance
  WHERE id = ANY((SELECT $1::uuid[])::uuid[]) AND NOT watched
    AND status NOT IN :SETTLED
  ORDER BY id FOR NO KEY UPDATE))` as string,
  }),
  ended: sqlStatement({
    folder: 'read',
    parameters: ['ids', 'pageBytes'],
    values: ['ENDED_STATUSES', 'STORED_FIELDS', 'STEP_FIELDS_JSON'],
    text: `WITH found AS MATERIALIZED (SELECT ARRAY(SELECT i.id FROM saga.instance i
  WHERE i.id = ANY((SELECT $1::uuid[])::uuid[]) AND i.status IN :ENDED_STATUSES ORDER BY i.id) AS ids),
paged AS MATERIALIZED (SELECT f.ids AS found, p.ids, p.in_parts FROM found f CROSS JOIN LATERAL saga.page(f.ids, $2::bigint) p)
SELECT cardinality(paged.found) > cardinality(paged.ids) AS more, t.*
FROM paged CROSS JOIN LATERAL (
  SELECT w.place, :STORED_FIELDS, coalesce(paged.in_parts, false) AS "inParts",
  CASE WHEN paged.in_parts THEN NULL ELSE (SELECT json_agg(json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8, 'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8))
    FROM saga.step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN paged.in_parts THEN NULL ELSE CASE WHEN i.signals > 0 THEN (SELECT json_agg(json_build_object('number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text,
  'at', (extract(epoch FROM g.sent_at) * 1000)::float8) ORDER BY g.number)
    FROM saga.signal g
    WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END END AS signals
  FROM unnest(paged.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM saga.instance h WHERE h.id = w.id LIMIT 1) i) t
ORDER BY t.place` as string,
  }),
  settled: sqlStatement({
    folder: 'read',
    parameters: ['ids', 'pageBytes'],
    values: ['SETTLED', 'STORED_FIELDS', 'STEP_FIELDS_JSON'],
    text: `WITH found AS MATERIALIZED (SELECT ARRAY(SELECT i.id FROM saga.instance i
  WHERE i.id = ANY((SELECT $1::uuid[])::uuid[]) AND i.status IN :SETTLED ORDER BY i.id) AS ids),
paged AS MATERIALIZED (SELECT f.ids AS found, p.ids, p.in_parts FROM found f CROSS JOIN LATERAL saga.page(f.ids, $2::bigint) p)
SELECT cardinality(paged.found) > cardinality(paged.ids) AS more, t.*
FROM paged CROSS JOIN LATERAL (
  SELECT w.place, :STORED_FIELDS, coalesce(paged.in_parts, false) AS "inParts",
  CASE WHEN paged.in_parts THEN NULL ELSE (SELECT json_agg(json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8, 'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8))
    FROM saga.step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN paged.in_parts THEN NULL ELSE CASE WHEN i.signals > 0 THEN (SELECT json_agg(json_build_object('number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text,
  'at', (extract(epoch FROM g.sent_at) * 1000)::float8) ORDER BY g.number)
    FROM saga.signal g
    WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END END AS signals
  FROM unnest(paged.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM saga.instance h WHERE h.id = w.id LIMIT 1) i) t
ORDER BY t.place` as string,
  }),
  changed: sqlStatement({
    folder: 'read',
    parameters: ['ids', 'seen'],
    values: [] as never[],
    text: `SELECT w.id, now.seen FROM unnest((SELECT $1::uuid[]), (SELECT $2::text[])) AS w(id, seen)
LEFT JOIN LATERAL (
  SELECT concat(i.checkpoints, '.', i.epoch, '.', i.cancel_requested_at IS NOT NULL, i.pause_requested, i.overdue, '.', i.locked_by,
    md5(i.reports::text)) AS seen
  FROM saga.instance i WHERE i.id = w.id LIMIT 1) now ON true
WHERE now.seen IS NULL OR now.seen IS DISTINCT FROM w.seen` as string,
  }),
  present: sqlStatement({
    folder: 'read',
    parameters: ['ids', 'pageBytes'],
    values: ['STORED_FIELDS', 'STEP_FIELDS_JSON', 'LOADED_OPERATIONS', 'AROUND_FIELDS'],
    text: `WITH found AS MATERIALIZED (SELECT ARRAY(SELECT i.id FROM saga.instance i WHERE i.id = ANY((SELECT $1::uuid[])::uuid[]) ORDER BY i.id) AS ids),
paged AS MATERIALIZED (SELECT f.ids AS found, p.ids, p.in_parts FROM found f CROSS JOIN LATERAL saga.page(f.ids, $2::bigint) p)
SELECT cardinality(paged.found) > cardinality(paged.ids) AS more, t.*
FROM paged CROSS JOIN LATERAL (
  SELECT w.place, :STORED_FIELDS, coalesce(paged.in_parts, false) AS "inParts",
  CASE WHEN paged.in_parts THEN NULL ELSE (SELECT json_agg(json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8, 'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8))
    FROM saga.step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN paged.in_parts THEN NULL ELSE CASE WHEN i.signals > 0 THEN (SELECT json_agg(json_build_object('number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text,
  'at', (extract(epoch FROM g.sent_at) * 1000)::float8) ORDER BY g.number)
    FROM saga.signal g
    WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END END AS signals, CASE WHEN i.lock_state IN ('arriving', 'waiting') THEN saga.lock_holder(i.name, i.lock_key) END AS "lockHolder",
  CASE WHEN i.due_at <= now() THEN saga.slots_taken(i.name, i.limit_key) END AS "slotsTaken",
  :LOADED_OPERATIONS AS operations, :AROUND_FIELDS
  FROM unnest(paged.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM saga.instance h WHERE h.id = w.id LIMIT 1) i) t
ORDER BY t.place` as string,
  }),
  missing: sqlStatement({
    folder: 'read',
    parameters: ['ids'],
    values: [] as never[],
    text: `SELECT id FROM unnest($1::uuid[]) AS wanted (id)
WHERE NOT EXISTS (SELECT FROM saga.instance i WHERE i.id = wanted.id)` as string,
  }),
  stepPart: sqlStatement({
    folder: 'read',
    parameters: ['id', 'after', 'bytes'],
    values: ['STEP_FIELDS_JSON'],
    text: `SELECT json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8, 'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8) AS step FROM saga.step s
WHERE s.saga_id = $1::uuid AND s.name > $2::text AND s.name <= (SELECT saga.step_part($1::uuid, $2::text, $3::bigint))
ORDER BY s.name` as string,
  }),
  signalPart: sqlStatement({
    folder: 'read',
    parameters: ['id', 'after', 'bytes'],
    values: [] as never[],
    text: `SELECT i.signals > p.last AS more, json_build_object('number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text,
  'at', (extract(epoch FROM g.sent_at) * 1000)::float8) AS signal
FROM (SELECT saga.signal_part($1::uuid, $2::int, $3::bigint) AS last OFFSET 0) p
CROSS JOIN LATERAL (SELECT * FROM saga.instance WHERE id = $1::uuid) i
CROSS JOIN LATERAL (SELECT * FROM saga.signal s WHERE s.saga_id = i.id AND s.number > $2::int AND s.number <= p.last
  AND s.number > coalesce((i.progress -> 'lastTakenSignals' ->> s.name)::int, 0) ORDER BY s.number) g` as string,
  }),
  stands: sqlStatement({
    folder: 'read',
    parameters: ['id'],
    values: [] as never[],
    text: `SELECT epoch, checkpoints FROM saga.instance WHERE id = $1::uuid` as string,
  }),
  signal: sqlStatement({
    folder: 'signals',
    parameters: ['ids', 'names', 'correlationIds', 'signals', 'messageIds', 'payloads', 'known'],
    values: [] as never[],
    text: `SELECT place, outcome, id, name, version, status, awaited, elsewhere
FROM saga.signal($1, $2, $3, $4, $5, $6, $7) ORDER BY place` as string,
  }),
  existing: sqlStatement({
    folder: 'start',
    parameters: ['places', 'ids', 'names', 'correlationIds', 'pageBytes'],
    values: [] as never[],
    text: `SELECT e.n, e.id, e.name, e.correlation_id, e.input::text AS input, e.locked_by, e.epoch,
  (extract(epoch FROM now()) * 1000)::float8 AS now
FROM (
  SELECT w.n, i.*, sum(coalesce(CASE WHEN pg_column_compression(i.input) IS NULL THEN pg_column_size(i.input) ELSE octet_length(i.input::text) END, 0)::bigint) OVER (ORDER BY w.n) AS bytes, row_number() OVER (ORDER BY w.n) AS place
  FROM unnest($1::int[], $2::uuid[], $3::text[], $4::text[]) AS w(n, id, name, correlation_id)
  CROSS JOIN LATERAL (
    (SELECT id, name, correlation_id, CASE WHEN input_replaced THEN started_input ELSE input END AS input,
      locked_by, epoch FROM saga.instance WHERE id = w.id)
    UNION ALL
    (SELECT id, name, correlation_id, CASE WHEN input_replaced THEN started_input ELSE input END AS input,
      locked_by, epoch FROM saga.instance
     WHERE name = w.name AND correlation_id = w.correlation_id)
    LIMIT 1) i) e
WHERE e.bytes <= $5 OR e.place = 1` as string,
  }),
  lockHolders: sqlStatement({
    folder: 'start',
    parameters: ['places', 'names', 'keys'],
    values: [] as never[],
    text: `SELECT w.n, saga.lock_holder(w.name, w.key) AS holder
FROM unnest($1::int[], $2::text[], $3::text[]) AS w(n, name, key)` as string,
  }),
} as const;
