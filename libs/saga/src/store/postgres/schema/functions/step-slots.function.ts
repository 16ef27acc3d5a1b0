import { SLOT_KEPT_MS, SLOT_LOOKS } from '../../../../engine/ports/step-slots.js';
import { PINNED } from './pinned-plan.js';

/** Limits that one sweep looks at, those first that were looked at longest ago. */
const SWEPT = 500;
/** Milliseconds between two looks at a limit, over all processes. */
const SWEEP_INTERVAL_MS = 4_000;

/**
 * The slots of steps with a `concurrency` over all sagas.
 *
 * step_limit has a row for each limit, and key of it: its lock puts those who take and free slots in an order. step_slot has a row
 * for each step, or item, that has a slot (taken), waits for one, or was called: a slot is kept for it, and its saga was made due.
 *
 * A slot that is taken counts while its saga is leased under the same epoch. fence_slots_1 ends leases that have run out and no worker took
 * over: their holders are fenced off, as by claim_limited_1. So what ends an attempt
 * without a word (a crash, an operator, a failover) frees its slot; `sweep_slots_1` makes the next one due for it. No wait is lost: a call
 * makes the saga due, or marks it as woken (wake_1), and each run of a saga asks again for all that it waits for. So a call that no saga came
 * for in time can be deleted.
 *
 * Nothing locks a saga's row before a limit's: here the limit's row is locked first, then the rows of sagas in the order of their
 * ids, as everything locks them.
 *
 * Plan: by primary keys, step_slot_waiting and step_slot_used.
 */
export const stepSlotFunctions = (schema: string): string[] => [
  lockLimit(schema),
  purge(schema),
  promote(schema),
  wakeAll(schema),
  fence(schema),
  take(schema),
  free(schema),
  sweep(schema),
];

/** The conditions on a limit's rows. $1 saga, $2 step, $3 key (empty: none). */
const OF_LIMIT = 's.saga = $1 AND s.step = $2 AND s.key = $3';

const lockLimit = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.lock_slots_1(text, text, text) RETURNS void LANGUAGE plpgsql ${PINNED} AS $function$
BEGIN
  LOOP
    PERFORM FROM ${schema}.step_limit s WHERE ${OF_LIMIT} FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO ${schema}.step_limit (saga, step, key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;
  END LOOP;
END $function$`;

/** Drops the slots of leases that are lost, and calls that no saga came for. */
const purge = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.purge_slots_1(text, text, text) RETURNS void LANGUAGE plpgsql ${PINNED} AS $function$
BEGIN
  DELETE FROM ${schema}.step_slot s WHERE ${OF_LIMIT} AND s.state <> 'waiting' AND (
    CASE s.state WHEN 'called' THEN s.called_at <= clock_timestamp() - interval '${SLOT_KEPT_MS} milliseconds'
      ELSE NOT EXISTS (SELECT FROM ${schema}.instance i WHERE i.id = s.saga_id AND i.epoch = s.epoch
        AND i.locked_by IS NOT NULL) END);
END $function$`;

/**
 * Gives what is free to those who wait, in their order: to the one who asks at once, to others by calling them. Returns the sagas to wake.
 * $4 count, $5 the saga that asks and $6 its steps, or null. A wait that is over, and was not taken back, is deleted.
 */
const promote = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.promote_slots_1(text, text, text, int, uuid, text[]) RETURNS uuid[] LANGUAGE plpgsql
${PINNED} AS $function$
DECLARE
  room int;
  waiter record;
  called uuid[] := '{}';
BEGIN
  room := $4 - (SELECT count(*) FROM ${schema}.step_slot s WHERE ${OF_LIMIT} AND s.state <> 'waiting');
  FOR n IN 1..${SLOT_LOOKS} LOOP
    EXIT WHEN room <= 0;
    SELECT s.saga_id, s.step_key INTO waiter FROM ${schema}.step_slot s WHERE ${OF_LIMIT} AND s.state = 'waiting'
    ORDER BY s.number LIMIT 1;
    EXIT WHEN NOT FOUND;
    IF waiter.saga_id = $5 AND waiter.step_key = ANY($6) THEN
      UPDATE ${schema}.step_slot s SET state = 'taken'
      WHERE ${OF_LIMIT} AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
    ELSIF EXISTS (SELECT FROM ${schema}.instance i WHERE i.id = waiter.saga_id AND i.status = 'running' AND (i.locked_by IS NOT NULL
        OR EXISTS (SELECT FROM ${schema}.step t WHERE t.saga_id = i.id AND t.name = waiter.step_key AND t.status = 'waiting'
          AND (t.progress -> 'slot') IS NOT NULL))) THEN
      UPDATE ${schema}.step_slot s SET state = 'called', called_at = clock_timestamp()
      WHERE ${OF_LIMIT} AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
      called := called || waiter.saga_id;
    ELSE
      DELETE FROM ${schema}.step_slot s WHERE ${OF_LIMIT} AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
      CONTINUE;
    END IF;
    room := room - 1;
  END LOOP;
  RETURN called;
END $function$`;

const wakeAll = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.wake_all_1(uuid[]) RETURNS void LANGUAGE plpgsql ${PINNED} AS $function$
DECLARE
  saga uuid;
BEGIN
  FOR saga IN SELECT DISTINCT w.id FROM unnest($1) AS w(id) ORDER BY w.id LOOP
    PERFORM ${schema}.wake_1(saga);
  END LOOP;
END $function$`;

/** A statement of its own: it locks the rows of many sagas, and nothing else. $1 names of sagas. */
const fence = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.fence_slots_1(text[]) RETURNS void LANGUAGE plpgsql ${PINNED} AS $function$
DECLARE
  lapsed uuid[];
BEGIN
  lapsed := ARRAY(SELECT i.id FROM ${schema}.instance i WHERE i.id = ANY(ARRAY(
      SELECT s.saga_id FROM ${schema}.step_slot s WHERE s.saga = ANY($1) AND s.state <> 'waiting'))
    AND i.locked_by IS NOT NULL AND i.due_at <= clock_timestamp()
    AND EXISTS (SELECT FROM ${schema}.step_slot s WHERE s.saga = i.name AND s.saga_id = i.id AND s.epoch = i.epoch AND s.state = 'taken')
    ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE ${schema}.instance i SET epoch = i.epoch + 1 WHERE i.id = ANY(lapsed);
END $function$`;

/** $4 count, $5 saga, $6 its epoch, $7 the turn, $8 its steps. Returns those that have a slot; null: the lease is lost. */
const take = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.take_slots_1(text, text, text, int, uuid, int, int, text[]) RETURNS text[] LANGUAGE plpgsql
${PINNED} AS $function$
DECLARE
  called uuid[];
BEGIN
  PERFORM ${schema}.lock_slots_1($1, $2, $3);
  PERFORM FROM ${schema}.instance i WHERE i.id = $5 AND i.epoch = $6 AND i.locked_by IS NOT NULL AND i.due_at > clock_timestamp();
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- Also one that comes late, if no other was called since.
  UPDATE ${schema}.step_slot s SET state = 'taken', epoch = $6, turn = $7
  WHERE ${OF_LIMIT} AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.state = 'called';
  PERFORM ${schema}.purge_slots_1($1, $2, $3);
  INSERT INTO ${schema}.step_slot AS s (saga, step, key, saga_id, step_key, epoch, turn, state)
  SELECT $1, $2, $3, $5, w.step, $6, $7, 'waiting' FROM unnest($8) WITH ORDINALITY AS w(step, place) ORDER BY w.place
  ON CONFLICT (saga, step, key, saga_id, step_key) DO UPDATE SET epoch = excluded.epoch,
    turn = CASE WHEN s.epoch = excluded.epoch THEN greatest(s.turn, excluded.turn) ELSE excluded.turn END;
  called := ${schema}.promote_slots_1($1, $2, $3, $4, $5, $8);
  PERFORM ${schema}.wake_all_1(called);
  RETURN ARRAY(SELECT s.step_key FROM ${schema}.step_slot s
    WHERE ${OF_LIMIT} AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.state = 'taken');
END $function$`;

/** As of take_slots_1. What was taken in a later turn stays: a statement may arrive late, and may arrive twice. */
const free = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.free_slots_1(text, text, text, int, uuid, int, int, text[]) RETURNS void LANGUAGE plpgsql
${PINNED} AS $function$
BEGIN
  PERFORM ${schema}.lock_slots_1($1, $2, $3);
  DELETE FROM ${schema}.step_slot s WHERE ${OF_LIMIT} AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.epoch = $6 AND s.turn <= $7;
  PERFORM ${schema}.purge_slots_1($1, $2, $3);
  PERFORM ${schema}.wake_all_1(${schema}.promote_slots_1($1, $2, $3, $4, NULL, NULL));
  -- The row of a key that is not in use. That of a limit without a key stays.
  IF $3 <> '' AND NOT EXISTS (SELECT FROM ${schema}.step_slot s WHERE ${OF_LIMIT}) THEN
    DELETE FROM ${schema}.step_limit s WHERE ${OF_LIMIT};
  END IF;
END $function$`;

/**
 * $1 names of sagas, then the limits that their steps have: $2 names, $3 steps, $4 counts. A limit that is not among them is gone, and
 * nothing waits for it any more.
 */
const sweep = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.sweep_slots_1(text[], text[], text[], int[]) RETURNS void LANGUAGE plpgsql
${PINNED} AS $function$
DECLARE
  found record;
  called uuid[] := '{}';
BEGIN
  FOR found IN
    SELECT s.saga, s.step, s.key, coalesce((SELECT w.count FROM unnest($2, $3, $4) AS w(saga, step, count)
      WHERE w.saga = s.saga AND w.step = s.step LIMIT 1), 2147483647) AS count
    FROM ${schema}.step_limit s
    WHERE s.saga = ANY($1) AND s.checked_at < clock_timestamp() - interval '${SWEEP_INTERVAL_MS} milliseconds'
    ORDER BY s.checked_at LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED
  LOOP
    PERFORM ${schema}.purge_slots_1(found.saga, found.step, found.key);
    called := called || ${schema}.promote_slots_1(found.saga, found.step, found.key, found.count, NULL, NULL);
    IF EXISTS (SELECT FROM ${schema}.step_slot s WHERE s.saga = found.saga AND s.step = found.step AND s.key = found.key) THEN
      UPDATE ${schema}.step_limit s SET checked_at = clock_timestamp()
      WHERE s.saga = found.saga AND s.step = found.step AND s.key = found.key;
    ELSE
      DELETE FROM ${schema}.step_limit s WHERE s.saga = found.saga AND s.step = found.step AND s.key = found.key;
    END IF;
  END LOOP;
  PERFORM ${schema}.wake_all_1(called);
END $function$`;
