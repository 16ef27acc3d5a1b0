-- The slots of steps with a `limit`.
--
-- step_limit has a row for each limit, and key of it: its lock puts those who take and free slots in an order. step_slot has a row
-- for each step, or item, that has a slot (taken), waits for one, was called (a slot is kept for it, and its saga was made due), or is
-- late: its saga did not come in time for the slot that was kept. Its number is its place, which it keeps until it has had a slot.
--
-- A slot that is taken counts while its saga is leased under the same epoch. fence_slots ends leases that have run out and no worker took
-- over: their holders are fenced off, as by claim_limited. So what ends an attempt
-- without a word (a crash, an operator, a failover) frees its slot; `sweep_slots` makes the next one due for it. No wait is lost: a row
-- is deleted once its attempt has ended, or its saga, by what is stored of it, does not wait for it. A saga that was called asks again, and is
-- let in by the count of the limit as that run knows it; if it comes late, it still goes before all that came after it.
--
-- A saga that is called is as urgent as one that has been due since it began to wait: it does not wait behind what came later.
--
-- Times that are stored bound a wait from below only: one that is yet to come was stored before the server's clock was set back, and
-- counts as long past.
--
-- Nothing locks a saga's row before a limit's: here the limit's row is locked first, then the rows of sagas in the order of their
-- ids, as everything locks them.
--
-- Plan: by primary keys, step_slot_waiting and step_slot_used.

-- Limits that one sweep looks at, those first that were looked at longest ago.
\set SWEPT 500

-- Milliseconds between two looks at a limit, over all processes.
\set SWEEP_INTERVAL_MS 4000

-- fragment: OF_LIMIT
-- The conditions on a limit's rows. $1 saga, $2 step, $3 key (empty: none).
s.saga = $1 AND s.step = $2 AND s.key = $3

-- name: lock_slots
CREATE OR REPLACE FUNCTION saga.lock_slots(text, text, text) RETURNS void LANGUAGE plpgsql :PINNED AS $function$
BEGIN
  LOOP
    PERFORM FROM saga.step_limit s WHERE :OF_LIMIT FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO saga.step_limit (saga, step, key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;
  END LOOP;
END $function$;

-- fragment: RESTS_FOR_SLOT
-- The row `i` of an idle saga whose step `s` waits for a slot.
i.status = 'running' AND i.locked_by IS NULL
      AND EXISTS (SELECT FROM saga.step t WHERE t.saga_id = i.id AND t.name = s.step_key AND t.status = 'waiting'
        AND (t.progress -> 'slot') IS NOT NULL)

-- fragment: IS_WITHIN(column, ms)
-- Stored within so many milliseconds.
:column BETWEEN clock_timestamp() - interval ':ms milliseconds' AND clock_timestamp()

-- name: settle_slots
-- What is lost with its lease, or was called in vain, does not count. A step that waits all the same keeps its place.
CREATE OR REPLACE FUNCTION saga.settle_slots(text, text, text) RETURNS void LANGUAGE plpgsql :PINNED AS $function$
DECLARE
  lost record;
BEGIN
  FOR lost IN
    SELECT s.saga_id, s.step_key, EXISTS (SELECT FROM saga.instance i WHERE i.id = s.saga_id AND :RESTS_FOR_SLOT) AS rests
    FROM saga.step_slot s WHERE :OF_LIMIT AND s.state <> 'waiting' AND s.state = 'taken'
      AND NOT EXISTS (SELECT FROM saga.instance i WHERE i.id = s.saga_id AND i.epoch = s.epoch AND i.locked_by IS NOT NULL)
  LOOP
    IF lost.rests THEN
      UPDATE saga.step_slot s SET state = 'waiting' WHERE :OF_LIMIT AND s.saga_id = lost.saga_id AND s.step_key = lost.step_key;
    ELSE
      DELETE FROM saga.step_slot s WHERE :OF_LIMIT AND s.saga_id = lost.saga_id AND s.step_key = lost.step_key;
    END IF;
  END LOOP;
  UPDATE saga.step_slot s SET state = 'late'
  WHERE :OF_LIMIT AND s.state <> 'waiting' AND s.state = 'called' AND (:IS_WITHIN(s.called_at, :SLOT_KEPT_MS)) IS NOT TRUE;
END $function$;

-- name: promote_slots
-- Gives what is free to those who wait, in their order: to the one who asks at once, to others by calling them; those that are late
-- are called again if no other one waits. Returns the sagas that are called, and since when they wait. A wait that is over, and was not
-- taken back, is deleted.
-- $4 versions and $5 the counts of each; $4 null: of all. $6 the saga that asks and $7 its steps, or null.
CREATE OR REPLACE FUNCTION saga.promote_slots(text, text, text, int[], int[], uuid, text[],
  OUT called uuid[], OUT since timestamptz[]) LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  used int;
  waiter record;
  passed bigint := -1;
  is_late boolean := false;
  slots int;
BEGIN
  called := '{}';
  since := '{}';
  SELECT count(*) INTO used FROM saga.step_slot s WHERE :OF_LIMIT AND s.state <> 'waiting' AND s.state <> 'late';
  FOR n IN 1..:SLOT_LOOKS LOOP
    IF NOT is_late THEN
      :NEXT_OF(s.state = 'waiting')
      IF NOT FOUND THEN
        is_late := true;
        passed := -1;
      END IF;
    END IF;
    IF is_late THEN
      :NEXT_OF(s.state <> 'waiting' AND s.state = 'late')
      EXIT WHEN NOT FOUND;
    END IF;
    passed := waiter.number;
    slots := CASE WHEN $4 IS NULL THEN $5[1] ELSE $5[array_position($4, waiter.version)] END;
    CONTINUE WHEN slots IS NULL AND waiter.version IS NOT NULL;
    -- Of versions with another count, some may still find one.
    EXIT WHEN used >= slots AND $4 IS NULL;
    CONTINUE WHEN used >= slots;
    IF waiter.is_own THEN
      UPDATE saga.step_slot s SET state = 'taken'
      WHERE :OF_LIMIT AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
      used := used + 1;
    ELSIF waiter.waits THEN
      UPDATE saga.step_slot s SET state = 'called', called_at = clock_timestamp()
      WHERE :OF_LIMIT AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
      called := called || waiter.saga_id;
      since := since || waiter.since;
      used := used + 1;
    ELSE
      DELETE FROM saga.step_slot s WHERE :OF_LIMIT AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
    END IF;
  END LOOP;
  -- A slot that is kept for one that was called goes to one before it that asks.
  FOR waiter IN
    SELECT s.step_key, s.number FROM saga.step_slot s
    WHERE :OF_LIMIT AND s.saga_id = $6 AND s.step_key = ANY($7) AND s.state = 'waiting' ORDER BY s.number
  LOOP
    UPDATE saga.step_slot s SET state = 'waiting'
    WHERE :OF_LIMIT AND s.state <> 'waiting' AND s.state = 'called' AND s.number > waiter.number AND s.number = (
      SELECT max(o.number) FROM saga.step_slot o
      WHERE o.saga = $1 AND o.step = $2 AND o.key = $3 AND o.state <> 'waiting' AND o.state = 'called');
    EXIT WHEN NOT FOUND;
    UPDATE saga.step_slot s SET state = 'taken' WHERE :OF_LIMIT AND s.saga_id = $6 AND s.step_key = waiter.step_key;
  END LOOP;
END $function$;

-- fragment: NEXT_OF(state)
-- The next one in the order of the numbers, and whether its saga waits for it.
SELECT s.saga_id, s.step_key, s.number, s.since, i.version,
        coalesce(s.saga_id = $6 AND s.step_key = ANY($7), false) AS is_own,
        coalesce((i.status = 'running' AND i.locked_by IS NOT NULL) OR (:RESTS_FOR_SLOT), false) AS waits
      INTO waiter FROM saga.step_slot s LEFT JOIN saga.instance i ON i.id = s.saga_id
      WHERE :OF_LIMIT AND :state AND s.number > passed ORDER BY s.number LIMIT 1;

-- name: call_all
-- $1 sagas, $2 since when they wait: as urgent as one that has been due since then, whatever the server's clock has said.
CREATE OR REPLACE FUNCTION saga.call_all(uuid[], timestamptz[]) RETURNS void LANGUAGE plpgsql :PINNED AS $function$
DECLARE
  called record;
BEGIN
  FOR called IN SELECT w.id, min(w.since) AS since FROM unnest($1, $2) AS w(id, since) GROUP BY w.id ORDER BY w.id LOOP
    PERFORM saga.wake(called.id);
    UPDATE saga.instance i SET rank_at = i.rank_at - greatest(now() - called.since, interval '0')
    WHERE i.id = called.id AND i.locked_by IS NULL AND i.rank_at IS NOT NULL;
  END LOOP;
END $function$;

-- name: fence_slots
-- A statement of its own: it locks the rows of many sagas, and nothing else. $1 names of sagas.
CREATE OR REPLACE FUNCTION saga.fence_slots(text[]) RETURNS void LANGUAGE plpgsql :PINNED AS $function$
DECLARE
  lapsed uuid[];
BEGIN
  lapsed := ARRAY(SELECT i.id FROM saga.instance i WHERE i.id = ANY(ARRAY(
      SELECT s.saga_id FROM saga.step_slot s WHERE s.saga = ANY($1) AND s.state <> 'waiting'))
    AND i.locked_by IS NOT NULL AND i.due_at <= clock_timestamp()
    AND EXISTS (SELECT FROM saga.step_slot s WHERE s.saga = i.name AND s.saga_id = i.id AND s.epoch = i.epoch AND s.state = 'taken')
    ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE saga.instance i SET epoch = i.epoch + 1 WHERE i.id = ANY(lapsed);
END $function$;

-- name: take_slots
-- $4 count, $5 saga, $6 its epoch, $7 the turn, $8 its steps. Returns those that have a slot; null: the lease is lost.
CREATE OR REPLACE FUNCTION saga.take_slots(text, text, text, int, uuid, int, int, text[]) RETURNS text[] LANGUAGE plpgsql
:PINNED AS $function$
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
    WHERE :OF_LIMIT AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.state = 'taken');
END $function$;

-- name: free_slots
-- Frees what take_slots took. What was taken in a later turn stays: a statement may arrive late, and may
-- arrive twice.
CREATE OR REPLACE FUNCTION saga.free_slots(text, text, text, int, uuid, int, int, text[]) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  others record;
BEGIN
  PERFORM saga.lock_slots($1, $2, $3);
  DELETE FROM saga.step_slot s WHERE :OF_LIMIT AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.epoch = $6 AND s.turn <= $7;
  PERFORM saga.settle_slots($1, $2, $3);
  others := saga.promote_slots($1, $2, $3, NULL, ARRAY[$4], NULL, NULL);
  PERFORM saga.call_all(others.called, others.since);
  -- The row of a key that is not in use. That of a limit without a key stays.
  IF $3 <> '' AND NOT EXISTS (SELECT FROM saga.step_slot s WHERE :OF_LIMIT) THEN
    DELETE FROM saga.step_limit s WHERE :OF_LIMIT;
  END IF;
END $function$;

-- name: sweep_slots
-- $1 names and $2 versions of sagas, then the limits that their steps have: $3 names, $4 versions, $5 steps, $6 counts. A limit that is
-- not among them is gone for that version, and nothing of it waits any more.
CREATE OR REPLACE FUNCTION saga.sweep_slots(text[], int[], text[], int[], text[], int[]) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  swept record;
  others record;
  called uuid[] := '{}';
  since timestamptz[] := '{}';
BEGIN
  FOR swept IN
    SELECT s.saga, s.step, s.key FROM saga.step_limit s
    WHERE s.saga = ANY($1) AND (:IS_WITHIN(s.checked_at, :SWEEP_INTERVAL_MS)) IS NOT TRUE
    ORDER BY s.checked_at LIMIT :SWEPT FOR UPDATE SKIP LOCKED
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
END $function$;
