-- The `limit` of sagas: of one name no more than so many leases at a time count, in all processes together.
--
-- The table has a row for each limited name, with the ids of the sagas that have a slot. A claim locks the row, drops
-- the sagas that are not leased any more, and fills the free slots. Starts and checkpoints are not involved. So a slot
-- is free the moment its lease is released, taken away or has run out, and nothing is lost with a process that dies.
-- The holder of an expired lease could still renew it: the claim that takes its slot away fences the holder off, by the
-- epoch. A lease whose row is locked at this moment (being renewed, for example) still counts.
--
-- `crowded`: a saga was turned away since a slot was last left over. The first process that looks fills the slots,
-- mostly the process whose saga ended. If that process cannot use a slot (no room, another version), it announces the
-- slot once. If no saga was turned away, it announces nothing. No wake-up is lost: a claim that turns a saga away sees
-- all slots taken under the row's lock, and records that. Each of those slots becomes free by a commit after which its
-- process claims, under that lock again. The announcement belongs to finding that a slot has become free, not to its
-- being free. Otherwise processes of two releases that count differently would wake each other for ever.

-- name: slots_taken
-- How many leases of a name, and of a key unless that is null, count now.
CREATE OR REPLACE FUNCTION saga.slots_taken(text, text) RETURNS int LANGUAGE plpgsql STABLE
:PINNED AS $function$
BEGIN
  RETURN (SELECT count(*) FROM saga.instance i
    WHERE i.id = ANY(ARRAY(SELECT unnest(c.holders) FROM saga.saga_limit c WHERE c.saga = $1))
      AND ($2 IS NULL OR i.limit_key = $2) AND i.locked_by IS NOT NULL AND i.due_at > clock_timestamp());
END $function$;

-- fragment: DUE
i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment

-- name: claim_limited
-- Takes due sagas of names with a limit; gives their ids and epochs, most urgent first. They are read
-- by a statement of their own: a process that stops while it is sent large inputs must not keep the row locked.
-- Sagas without a limit are looked at, so that those that are more urgent keep their part of the room, and are left
-- to the claim that follows (claim.sql).
--
-- Nothing is locked or written while nothing is due, or while all places are known to be taken: hints and polls
-- cost a few index reads then. Rows of `saga_limit` are locked in the order of their names; rows of sagas are
-- never waited for, so this can be in no deadlock.
-- Plan: as in claim.sql, and the holders by primary key; pinned by the function's settings.
-- $1 names, $2 versions, $3 limits of the names; $4 names, $5 versions without limit; $6 room, $7 worker, $8 lease in ms.
CREATE OR REPLACE FUNCTION saga.claim_limited(text[], int[], int[], text[], int[], int, text, float8)
RETURNS TABLE (taken uuid[], epochs int[], clock float8, next_due_at float8) LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  -- Of each name that there is something to do for: its limit, its free places, and how many came free since.
  asked text[];
  limits int[];
  left_over int[] := '{}';
  came_free int[] := '{}';
  crowd boolean[] := '{}';
  -- Names of which a saga is turned away.
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
          CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE :DUE LIMIT 1) d)
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
          SELECT i.id, i.epoch, i.rank_at FROM saga.instance i WHERE :DUE
          ORDER BY i.rank_at LIMIT least(o.free, $6) FOR UPDATE SKIP LOCKED) d) m
      WHERE m.place <= m.free
      UNION ALL
      SELECT p.id, p.epoch, p.rank_at, false FROM unnest($4, $5) AS w(name, version)
      CROSS JOIN LATERAL (
        SELECT i.id, i.epoch, i.rank_at FROM saga.instance i WHERE :DUE ORDER BY i.rank_at LIMIT $6) p
    ), due AS (
      SELECT * FROM candidates ORDER BY rank_at LIMIT $6
    ), leased AS (
      UPDATE saga.instance i SET :TAKE_LEASE($7, $8, moment)
      WHERE i.id = ANY(ARRAY(SELECT id FROM due WHERE limited))
    )
    SELECT coalesce(array_agg(due.id ORDER BY due.rank_at), '{}'), coalesce(array_agg(due.epoch + 1 ORDER BY due.rank_at), '{}')
    INTO taken, epochs FROM due WHERE due.limited;

    FOR n IN 1..cardinality(asked) LOOP
      given := ARRAY(SELECT i.id FROM saga.instance i WHERE i.id = ANY(taken) AND i.name = asked[n]);
      has_free_slot := left_over[n] > cardinality(given);
      IF NOT has_free_slot AND EXISTS (SELECT FROM unnest($1, $2) AS w(name, version)
          CROSS JOIN LATERAL (SELECT FROM saga.instance i WHERE :DUE LIMIT 1) d WHERE w.name = asked[n]) THEN
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
        ORDER BY i.rank_at LIMIT $6 + :LOOK_AHEAD) a
      WHERE a.id <> ALL(taken) AND (a.due_at > moment OR w.name <> ALL(full_names))),
    (SELECT min(i.due_at) FROM saga.instance i
      WHERE i.locked_by IS NOT NULL AND i.id = ANY(ARRAY(
        SELECT unnest(c.holders) FROM saga.saga_limit c WHERE c.saga = ANY(full_names)))))) * 1000;
  RETURN NEXT;
END $function$;
