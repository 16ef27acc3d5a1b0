-- name: signal
-- Stores signals of sagas, in the order given for each. Every saga numbers the signals that it receives,
-- under its row's lock, so that the numbers are in the order of commits.
--
-- No wake-up is lost. A saga that waits for this name is due now. A leased saga is marked as woken, and its worker is
-- notified. If that worker releases the lease without having received the notification, the mark makes the saga due at
-- once (checkpoint.sql). A signal that no step waits for yet changes only the count: a claim returns all
-- signals that the saga has not taken, and by then the saga has recorded what it waits for.
--
-- Plan: by primary key and instance_correlation; signals by signal_pkey and signal_message. Rows of sagas are locked in
-- the order of their ids, as everything locks them. Each of a million waiting sagas costs its row and nothing else:
-- they are in no index of what is due, unless they wait with a timeout.
-- $1 ids, $2 names and $3 correlation ids of sagas ($2 null: by id; otherwise the id is the correlation id, if it can
-- be one), $4 names, $5 message ids, $6 payloads of signals, $7 the names that the process knows (AwaitedSignals; null:
-- nothing is refused).
--
-- A name that no step waits for is refused. What the process knows of the deployed graph, and what the saga waits for
-- right now, is found without reading a graph. Otherwise the instance's own graph decides: the one that it keeps, or the
-- newest of its version. So a process that has another version, or another structure of the same one, refuses nothing that
-- the instance waits for, and stores nothing that it will not take.
CREATE OR REPLACE FUNCTION saga.signal(uuid[], text[], text[], text[], text[], json[], jsonb)
RETURNS TABLE (place int, outcome text, id uuid, name text, version int, status text, awaited text[], elsewhere boolean) LANGUAGE plpgsql
:PINNED AS $function$
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
      -- The time of the call, in a transaction that may have begun before a wait has ended.
      INSERT INTO saga.signal (saga_id, number, name, message_id, payload, sent_at)
      VALUES (given.id, sent_to.signals + 1, given.signal, given.message_id, given.payload, clock_timestamp());
      UPDATE saga.instance i SET
        signals = i.signals + 1,
        woken = i.woken OR sent_to.locked_by IS NOT NULL,
        due_at = CASE WHEN sent_to.rests AND sent_to.awaits THEN now() ELSE i.due_at END,
        rank_at = CASE WHEN sent_to.rests AND sent_to.awaits THEN :RANK_NOW(i) ELSE i.rank_at END
      WHERE i.id = given.id;
      IF sent_to.rests AND sent_to.awaits THEN
        PERFORM pg_notify(:CHANNEL, 'due');
      ELSIF sent_to.locked_by IS NOT NULL THEN
        PERFORM pg_notify(:CHANNEL, 'look:' || given.id);
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
END $function$;
