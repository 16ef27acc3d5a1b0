-- Due sagas of a name that are looked at for their keys. If there are no more, these are all keys that have any.
\set KEYS_BY_RANK 500

-- If there are more, so many keys are looked at, from the one whose turn it is.
\set KEYS_IN_TURN 1000

-- Sagas that are looked at in all, of the keys that have slots.
\set CANDIDATES 2000

-- When the next keys are looked at if these had nothing to do (ms).
\set NEXT_KEYS 200

-- name: claim_keyed
-- Takes due sagas of names with a limit for each key, as claim_limited does for names with one limit.
-- See there for slots, fences and announcements. The row of `saga_limit` has the holders of all keys of its name.
--
-- The keys take turns. A claim takes the first saga of each key that has a free slot, beginning after the key that was
-- served last, then the second ones, and so on; running sagas count as taken. So the first saga of a key is claimed at
-- once, or by the next claims if there are more keys than room, whatever waits of other keys. Between names, and sagas
-- without a limit, the most urgent go first, as elsewhere: the n-th saga that a name takes counts as urgent as its n-th
-- most urgent one.
--
-- Sagas that were started before the limit had a key have none, and share the empty one.
--
-- Plan: the keys of the first due sagas come from instance_due. Only if there are more of these, a loose index scan of
-- instance_limit follows: one descent for each key, never the sagas of one key. Its sagas come from the same index in their
-- order, stopped by LIMIT. Pinned by the function's settings.
-- $1 names, $2 versions, $3 limits of the names; $4 names, $5 versions without limit; $6 room, $7 worker, $8 lease in ms.
CREATE OR REPLACE FUNCTION saga.claim_keyed(text[], int[], int[], text[], int[], int, text, float8)
RETURNS TABLE (taken uuid[], epochs int[], clock float8, next_due_at float8) LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  -- Of each name that there is something to do for.
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
  -- What may be taken, in turns; the ranks of the same sagas in their order; and their names and keys.
  ids uuid[] := '{}';
  ranks timestamptz[] := '{}';
  names text[] := '{}';
  turns text[] := '{}';
  own_ids uuid[];
  own_ranks timestamptz[];
  own_turns text[];
  -- What is known of the names so far, for the end.
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
    CONTINUE WHEN is_crowded IS NOT TRUE AND NOT :EXISTS_DUE;
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
      SELECT coalesce(i.limit_key, '') AS key FROM saga.instance i WHERE :DUE(limited) ORDER BY i.rank_at LIMIT :KEYS_BY_RANK) d;
    keys := ARRAY(SELECT k.key FROM unnest(due_keys) AS k(key) WHERE k.key <> ALL(full_keys)
      ORDER BY k.key <= slots.last_key, k.key);
    next_key := NULL;
    IF due_count >= :KEYS_BY_RANK THEN
      SELECT coalesce(array_agg(r.key ORDER BY r.lap, r.key) FILTER (WHERE r.key <> ALL(full_keys) AND r.is_due), '{}'),
        CASE WHEN count(*) >= :KEYS_IN_TURN THEN (array_agg(r.key ORDER BY r.lap DESC, r.key DESC))[1] END
      INTO keys, next_key FROM (
        -- The keys in turn. Lap 0: those after the key that was served last; lap 1: from the first key up to that one.
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
          CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE :DUE(limited) AND i.limit_key = r.key LIMIT 1) d) AS is_due
        FROM (SELECT DISTINCT ON (l.lap, l.key) l.lap, l.key FROM (SELECT * FROM ring WHERE key <> '' LIMIT :KEYS_IN_TURN) l
          WHERE l.lap > 0 OR l.key > slots.last_key) r) r;
      IF '' = ANY(due_keys) AND '' <> ALL(full_keys) THEN keys := keys || ''::text; END IF;
    END IF;

    per_key := ceil(greatest(:CANDIDATES, 4 * $6)::float8 / greatest(1, cardinality(keys)));
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
          (SELECT i.id, i.rank_at FROM saga.instance i WHERE :DUE(limited) AND i.limit_key = k.key
            ORDER BY i.rank_at LIMIT least(limited.slots - k.held, per_key))
          UNION ALL
          (SELECT n.id, n.rank_at FROM (
              SELECT i.id, i.rank_at, i.limit_key FROM saga.instance i WHERE :DUE(limited) AND k.key = ''
              ORDER BY i.rank_at LIMIT :KEYS_BY_RANK) n
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
    UPDATE saga.instance i SET :TAKE_LEASE($7, $8, moment)
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
    -- Those that were left have found no slot here, or no room.
    has_due_left := EXISTS (SELECT FROM unnest(looked.versions) AS v(version)
      CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE :DUE(looked) LIMIT 1) d);
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
      CASE WHEN has_due_left AND looked.next_key IS NOT NULL THEN moment + :NEXT_KEYS * interval '1 millisecond' END,
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
        ORDER BY i.rank_at LIMIT :LOOK_AHEAD)
      UNION ALL
      (SELECT i.id, i.due_at FROM saga.instance i
        WHERE i.name = w.name AND i.version = w.version AND i.rank_at > moment
        ORDER BY i.rank_at LIMIT $6 + :LOOK_AHEAD)) a
    WHERE a.due_at > moment AND a.id <> ALL(taken)))) * 1000;
  RETURN NEXT;
END $function$;

-- fragment: DUE(limited)
i.name = :limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment

-- fragment: EXISTS_DUE
EXISTS (SELECT FROM unnest(limited.versions) AS v(version)
      CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE :DUE(limited) LIMIT 1) d)
