import { PUBLISH_PARAMETERS } from '../../checkpoint/checkpoint-parameters.js';
import { IS_RAISED } from './raised-isolation.js';
import { BATCH } from './source-rows.js';

export const PUBLISH_ARGUMENTS = PUBLISH_PARAMETERS.length;
export const PUBLISH_TYPES = BATCH.types(PUBLISH_PARAMETERS);

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
CREATE OR REPLACE FUNCTION ${schema}.publish(${PUBLISH_TYPES}) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
  PERFORM pg_current_xact_id();
  INSERT INTO ${schema}.outbox (id, aggregatetype, aggregateid, type, payload, headers)
  SELECT w.id, w.topic, w.key, w.type, w.payload, w.headers FROM ${BATCH.rows(PUBLISH_PARAMETERS, 'w', 1)}
  ON CONFLICT (id) DO NOTHING;
  PERFORM pg_notify('${channel}', 'published') FROM ${schema}.relay r WHERE r.asleep OR ${IS_RAISED};
END $function$`;
