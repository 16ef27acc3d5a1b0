import { IS_RAISED } from './raised-isolation.js';
import { BATCH } from './source-rows.js';

/** What is notified of a new message; in the order of the function's parameters. */
const COLUMNS = {
  id: 'uuid',
  topic: 'text',
  key: 'text',
  type: 'text',
  payload: 'json',
  headers: 'jsonb',
};

export const PUBLISH_ARGUMENTS = Object.keys(COLUMNS).length;
export const PUBLISH_TYPES = BATCH.types(COLUMNS);

/**
 * publish: stores messages in the caller's transaction, in the order of the arrays. One that is there already (a
 * statement that was sent again) is left alone.
 *
 * Plan: one insert from a function scan, which gives rows, and so seqs, in the arrays' order.
 * The transaction has its xid before it takes seqs: relay-order.ts needs that.
 * NOTIFY makes commits wait for each other, so relays are only woken while none of them looks often by itself: see
 * relay.function.ts. A transaction at a higher level than READ COMMITTED cannot know whether one has gone to sleep since.
 */
export const publishFunction = (schema: string, channel: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.publish(${BATCH.types(COLUMNS)}) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
  PERFORM pg_current_xact_id();
  INSERT INTO ${schema}.outbox (id, aggregatetype, aggregateid, type, payload, headers)
  SELECT w.id, w.topic, w.key, w.type, w.payload, w.headers FROM ${BATCH.rows(COLUMNS, 'w', 1)}
  ON CONFLICT (id) DO NOTHING;
  PERFORM pg_notify('${channel}', 'published') FROM ${schema}.relay r WHERE r.asleep OR ${IS_RAISED};
END $function$`;
