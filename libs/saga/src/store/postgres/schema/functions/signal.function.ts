import { PRIORITY_POINT_MS } from '../../../../engine/ports/saga-store.js';
import { PINNED } from './pinned-plan.js';

/**
 * signal_1: stores signals of sagas, in the order given for each. Every saga numbers the signals that it receives,
 * under its row's lock, so that the numbers are in the order of commits.
 *
 * No wake-up is lost. A saga that waits for this name is due now. A leased saga is marked as woken, and its worker is
 * notified. If that worker releases the lease without having received the notification, the mark makes the saga due at
 * once (checkpoint.function.ts). A signal that no step waits for yet changes only the count: a claim returns all
 * signals that the saga has not taken, and by then the saga has recorded what it waits for.
 *
 * Plan: by primary key and instance_correlation; signals by signal_pkey and signal_message. Rows of sagas are locked in
 * the order of their ids, as everything locks them. Each of a million waiting sagas costs its row and nothing else:
 * they are in no index of what is due, unless they wait with a timeout.
 * $1 ids, $2 names and $3 correlation ids of sagas ($2 null: by id; otherwise the id is the correlation id, if it can
 * be one), $4 names, $5 message ids, $6 payloads of signals, $7 by saga and version the names that its steps wait for
 * (others are refused; null, and sagas that are not in it: none are).
 */
export const signalFunction = (schema: string, channel: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.signal_1(uuid[], text[], text[], text[], text[], json[], jsonb)
RETURNS TABLE (place int, outcome text, id uuid, name text, version int, status text) LANGUAGE plpgsql
${PINNED} AS $function$
#variable_conflict use_column
DECLARE
  given record;
  saga record;
BEGIN
  FOR given IN
    SELECT w.place::int, w.signal, w.message_id, w.payload, CASE WHEN w.saga IS NULL THEN w.id ELSE coalesce(
        (SELECT i.id FROM ${schema}.instance i WHERE i.correlation_id = w.correlation_id AND i.name = w.saga),
        (SELECT i.id FROM ${schema}.instance i WHERE i.id = w.id AND i.name = w.saga AND i.correlation_id IS NULL)) END AS id
    FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS w(id, saga, correlation_id, signal, message_id, payload, place)
    ORDER BY 5, 1
  LOOP
    place := given.place;
    id := given.id;
    SELECT i.name, i.version, i.status, i.signals, i.locked_by,
      i.locked_by IS NULL AND i.status IN ('running', 'compensating') AND coalesce(jsonb_exists((i.progress -> 'awaits')::jsonb, given.signal), false) AS waits
    INTO saga FROM ${schema}.instance i WHERE i.id = given.id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      outcome := 'unknown';
      RETURN NEXT;
      CONTINUE;
    END IF;
    name := saga.name;
    version := saga.version;
    status := saga.status;
    IF EXISTS (SELECT FROM ${schema}.signal g WHERE g.saga_id = given.id AND g.message_id = given.message_id) THEN
      outcome := 'known';
    ELSIF NOT coalesce(jsonb_exists($7 -> (saga.name || '@' || saga.version), given.signal), true) THEN
      outcome := 'refused';
    ELSIF saga.status IN ('completed', 'compensated', 'aborted') THEN
      outcome := 'ended';
    ELSE
      outcome := 'kept';
      INSERT INTO ${schema}.signal (saga_id, number, name, message_id, payload)
      VALUES (given.id, saga.signals + 1, given.signal, given.message_id, given.payload);
      UPDATE ${schema}.instance i SET
        signals = i.signals + 1,
        woken = i.woken OR saga.locked_by IS NOT NULL,
        due_at = CASE WHEN saga.waits THEN now() ELSE i.due_at END,
        rank_at = CASE WHEN saga.waits THEN now() - i.priority * interval '${PRIORITY_POINT_MS} milliseconds' ELSE i.rank_at END
      WHERE i.id = given.id;
      IF saga.waits THEN
        PERFORM pg_notify('${channel}', 'due');
      ELSIF saga.locked_by IS NOT NULL THEN
        PERFORM pg_notify('${channel}', 'look:' || given.id);
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
END $function$`;
