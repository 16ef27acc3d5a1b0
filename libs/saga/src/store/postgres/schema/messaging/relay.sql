-- The outbox as relays work on it.
--
-- A lane (64 of them, by a hash of topic and key) belongs to one relay at a time, by a lease: no transaction is open
-- while messages are in progress (docs/decisions/006). The messages of a lane are read in the order of seq. A message
-- that could not be sent is `held`, with the time at which it is due again (retry_at) or of its death (dead_at). Each
-- later message of its topic and key is held behind it as it is read. So a key is sent in order or not at all, no other
-- key waits for it, and the messages behind a dead one are read once, not at every turn.
--
-- Where in a lane a page begins, and why each key is in order however transactions overlap: relay-order.sql.
--
-- Only the holder of a lane's lease lets held messages go or reads the others. Operators only change times. A
-- transaction that deletes a message that others may wait behind locks its lane first: no page can hold a message
-- behind one that is gone, with nothing left to let it go. A relay that has lost its lane deletes what it has sent, also if
-- it failed for the holder, before or after that holds others behind it: the first of them is due then.
--
-- A lane whose `may_hold` is false has no held message, so the messages of its pages are not looked up. A settlement sets
-- it, and a read from the beginning of the lane clears it if nothing is held.
--
-- Plan: index scans of outbox_ready, outbox_retry and outbox_held from given beginnings, pinned as in
-- checkpoint.sql. Deleted rows stay in the index until vacuum, or a reader, has marked them. A transaction that
-- is open for hours prevents that. So a lane is not read from its beginning at each turn.

-- The number of messages of a lane, due again, that are read in a turn.
\set DUE_AT_ONCE 100

-- The maximum number of messages of a key that are released at once. Any number may wait behind a failed message.
\set LET_GO_AT_ONCE 1000

-- fragment: FIRST_IS_DUE(of)
-- Makes the first held message of a topic and key due, unless it has a time of its own, or is dead: then an operator decides.
UPDATE saga.outbox o SET retry_at = now()
      FROM (SELECT b.id, b.dead_at, b.retry_at FROM saga.outbox b
        WHERE b.held AND b.lane = :of.lane AND b.aggregatetype = :of.topic AND b.aggregateid = :of.key
        ORDER BY b.seq LIMIT 1) w
      WHERE o.id = w.id AND w.dead_at IS NULL AND w.retry_at IS NULL;

-- name: outbox_let_go
-- Releases the messages of these lanes that are due again, and those that wait behind them up to the
-- next dead one. Returns the lanes.
CREATE OR REPLACE FUNCTION saga.outbox_let_go(smallint[]) RETURNS smallint[] LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  due record;
  changed smallint[] := '{}';
BEGIN
  FOR due IN
    SELECT r.* FROM unnest($1) AS l(lane)
    CROSS JOIN LATERAL (
      SELECT o.id, o.lane, o.seq, o.aggregatetype AS topic, o.aggregateid AS key, o.attempts
      FROM saga.outbox o WHERE o.lane = l.lane AND o.retry_at <= now()
      ORDER BY o.retry_at LIMIT :DUE_AT_ONCE) r
  LOOP
    PERFORM FROM saga.outbox b
    WHERE b.held AND b.lane = due.lane AND b.aggregatetype = due.topic AND b.aggregateid = due.key AND b.seq < due.seq LIMIT 1;
    IF FOUND THEN
      UPDATE saga.outbox o SET retry_at = NULL WHERE o.id = due.id;
    ELSIF due.attempts > 0 THEN
      -- It failed before, and may again: the others wait until it is sent.
      UPDATE saga.outbox o SET held = false, retry_at = NULL WHERE o.id = due.id;
      changed := changed || due.lane;
    ELSE
      UPDATE saga.outbox o SET held = false, retry_at = NULL
      FROM (SELECT b.id, bool_or(b.dead_at IS NOT NULL) OVER (ORDER BY b.seq) AS waits FROM (
        SELECT h.id, h.seq, h.dead_at FROM saga.outbox h
        WHERE h.held AND h.lane = due.lane AND h.aggregatetype = due.topic AND h.aggregateid = due.key
        ORDER BY h.seq LIMIT :LET_GO_AT_ONCE) b) w
      WHERE o.id = w.id AND NOT w.waits;
      :FIRST_IS_DUE(due)
      changed := changed || due.lane;
    END IF;
  END LOOP;
  RETURN changed;
END $function$;

-- name: outbox_take
-- Leases free lanes that have something to send, the one that waited longest first, and gives their
-- messages, in order. With `behind`: it was held back and is not to be sent, but there may be more behind it.
-- $1 relay, $2 lease in ms, $3 messages at most, $4 lanes at most, $5 bytes at most.
--
-- Lanes are examined in the order in which they are served, until enough have something to send: the subqueries end with
-- OFFSET 0, so that PostgreSQL neither reorders them nor examines all lanes first.
--
-- The lanes share the messages and the bytes. The first message of a lane may have any size: lanes that would begin past
-- the bytes are left for the next turn, which begins with them. outbox.bytes says how large a message is, so that no
-- payload is read that is not given.
CREATE OR REPLACE FUNCTION saga.outbox_take(text, float8, int, int, bigint)
RETURNS TABLE (lane smallint, epoch bigint, seq bigint, id uuid, topic text, key text, type text, payload text,
  headers jsonb, attempts int, behind boolean) LANGUAGE plpgsql
:PINNED AS $function$
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
      WHERE EXISTS (SELECT FROM (SELECT :READ_FROM(f) AS after OFFSET 0) s, saga.outbox o
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
    FROM (SELECT f.lane, u.place, f.may_hold, :READ_FROM(f) AS after FROM unnest(lanes) WITH ORDINALITY AS u(lane, place)
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
      safe_from = :SAFE_FROM(l),
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
END $function$;

-- name: outbox_settle
-- What became of the messages of some lanes, and gives the lanes back. Those that were sent are
-- deleted in any case; what is said of others counts only where the lane is still the caller's.
-- $1 sent, $2 failed, $3 their errors, $4 their attempts, $5 ms until they are due again (null: never, they are dead),
-- $6 held behind a failed one, $7 lanes, $8 their epochs, $9 was some message of the lane left as it was?
CREATE OR REPLACE FUNCTION saga.outbox_settle(uuid[], uuid[], text[], int[], float8[], uuid[],
  smallint[], bigint[], boolean[]) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
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
    :FIRST_IS_DUE(line)
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
    :FIRST_IS_DUE(line)
  END LOOP;

  UPDATE saga.outbox_lane l SET
    leased_by = NULL, leased_until = '-infinity', read_to = CASE WHEN w.rest THEN 0 ELSE l.read_to END,
    may_hold = l.may_hold OR $2 <> '{}' OR $6 <> '{}',
    :MARKS_AFTER_SETTLEMENT(l)
  FROM unnest($7, $8, $9) AS w(lane, epoch, rest)
  WHERE l.lane = w.lane AND l.epoch = w.epoch;
END $function$;

-- name: outbox_requeue
-- Dead messages are due again, with all their attempts. Gives how many of these were dead.
CREATE OR REPLACE FUNCTION saga.outbox_requeue(uuid[]) RETURNS int LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  changed int;
BEGIN
  UPDATE saga.outbox o SET dead_at = NULL, attempts = 0, retry_at = now()
  FROM unnest($1) AS w(id) WHERE o.id = w.id AND o.dead_at IS NOT NULL;
  GET DIAGNOSTICS changed = ROW_COUNT;
  RETURN changed;
END $function$;

-- name: outbox_discard
-- Deletes dead messages and makes the messages behind them due. Returns how many were dead.
CREATE OR REPLACE FUNCTION saga.outbox_discard(uuid[]) RETURNS int LANGUAGE plpgsql
:PINNED AS $function$
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
    :FIRST_IS_DUE(gone)
  END LOOP;
  RETURN changed;
END $function$;
