-- name: publish
-- Stores messages in the caller's transaction, in the order of the arrays. One that is there already (a
-- statement that was sent again) is left alone.
--
-- Plan: one insert from a function scan, which gives rows, and so seqs, in the arrays' order.
-- The transaction has its xid before it takes seqs: relay-order.sql needs that.
-- NOTIFY makes commits wait for each other, so relays are only woken while none of them looks often by itself: see
-- relay.sql. A transaction at a higher level than READ COMMITTED cannot know whether one has gone to sleep since.
CREATE OR REPLACE FUNCTION saga.publish(:MESSAGE_TYPES) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
  PERFORM pg_current_xact_id();
  INSERT INTO saga.outbox (id, aggregatetype, aggregateid, type, payload, headers)
  SELECT w.id, w.topic, w.key, w.type, w.payload, w.headers FROM unnest(:MESSAGE_GIVEN) AS w(:MESSAGE_COLUMNS)
  ON CONFLICT (id) DO NOTHING;
  PERFORM pg_notify(:CHANNEL, 'published') FROM saga.relay r WHERE r.asleep OR :IS_RAISED;
END $function$;
