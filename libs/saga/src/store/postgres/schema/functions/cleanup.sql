-- "gone" in ASCII; the second key of the lock is the schema's.
\set CLEANUP_LOCK 1735356005

-- fragment: KNOWN_FOR
-- See DELETION_KNOWN_FOR.
:DELETION_KNOWN_FOR * interval '1 millisecond'

-- fragment: OLD
      SELECT i.id, i.finished_at FROM saga.instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5

-- fragment: ENDED
SELECT i.id FROM saga.instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL

-- fragment: CLEANUP(forget)
-- Deletes a batch of sagas of a name that ended long ago, the oldest first, with all that belongs to them.
--
-- A saga is deleted with the sagas that it started, and theirs: a completed saga can still be undone, and needs them
-- for it. So only sagas without a parent are looked for. A saga with an unfinished descendant is left for later.
-- Nothing waits here, and only a transaction that wants one of the very sagas that are being deleted waits for this:
-- locked rows are left for later, too. PostgreSQL reads a locked row again, so that a saga that is being undone at this
-- moment stays.
--
-- The ids of those that ended lately are kept in `deleted` for some hours, and then deleted by later calls. A process that
-- started such a saga would otherwise, after a failover, take its missing row for one that was lost, and start it again. The
-- row of `deleted` has the fate of the deletion, as it is one transaction. A saga that has ended for longer than any process
-- knows it costs no such row.
--
-- An ended saga that still has to hand its lock on (lock-queue.sql) is left for later as well.
--
-- Plan: the oldest by instance_finished and deleted_oldest, descendants by instance_parent, the rest by primary keys, pinned as in
-- checkpoint.sql. The caller continues after the last saga read ($3, $4), so that what stays is not read again
-- with each batch.
-- $1 name, $2 age in ms, $3 and $4 time and id to begin after, $5 how many at most, without descendants, $6 only count,
-- $7 only if no other process runs it: otherwise there is no row.
-- forget: what else is to be done about a `family`, before it is deleted.
CREATE OR REPLACE FUNCTION saga.cleanup(text, float8, timestamptz, uuid, int, boolean, boolean)
RETURNS TABLE (looked int, gone int, place text, place_id uuid) LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  roots uuid[];
  times timestamptz[];
  family uuid[];
  tops uuid[];
  free uuid[];
  kept uuid[];
BEGIN
  IF $7 AND NOT pg_try_advisory_xact_lock(:CLEANUP_LOCK, hashtext($q$:SCHEMA$q$)) THEN
    RETURN;
  END IF;
  IF $6 THEN
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (:OLD) o;
  ELSE
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (:OLD FOR UPDATE SKIP LOCKED) o;
  END IF;
  IF NOT $6 THEN
    DELETE FROM saga.deleted d WHERE d.id = ANY (ARRAY(
      SELECT o.id FROM saga.deleted o WHERE o.at < now() - :KNOWN_FOR ORDER BY o.at LIMIT 2 * $5 FOR UPDATE SKIP LOCKED));
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
      SELECT array_agg(e.id) INTO free FROM (:ENDED) e;
    ELSE
      SELECT array_agg(e.id) INTO free FROM (:ENDED FOR UPDATE SKIP LOCKED) e;
    END IF;
    IF cardinality(free) < cardinality(family) THEN
      SELECT array_agg(w.top) INTO kept FROM unnest(family, tops) AS w(id, top) WHERE w.id <> ALL(free);
      SELECT array_agg(w.id) INTO family FROM unnest(family, tops) AS w(id, top) WHERE w.top <> ALL(kept);
    END IF;
    gone := coalesce(cardinality(family), 0);
    IF NOT $6 AND gone > 0 THEN
      INSERT INTO saga.deleted (id) SELECT i.id FROM saga.instance i
      WHERE i.id = ANY(family) AND i.finished_at > now() - :KNOWN_FOR ON CONFLICT (id) DO UPDATE SET at = now();
      :DELETE_BELONGINGS
      :forget
      DELETE FROM saga.instance i WHERE i.id = ANY(family);
    END IF;
  END IF;
  RETURN NEXT;
END $function$

-- name: cleanup
:CLEANUP();
