import { IN_PROGRESS } from '../../../../definition/types/saga-status.js';
import { inList } from '../in-list.js';
import { PRIORITY_POINT_MS } from '../../../../engine/ports/saga-store.js';
import { CHECKPOINTED, SAGA_PARAMETERS, STEP_PARAMETERS } from '../../checkpoint/checkpoint-parameters.js';
import { eachStepColumn } from '../step-row.js';
import { BATCH, type RowSource, SINGLE } from './source-rows.js';

/** The number of arguments; the last one says whether no step of the sagas is stored yet. */
export const CHECKPOINT_ARGUMENTS = SAGA_PARAMETERS.length + STEP_PARAMETERS.length + 1;
const typesOf = (source: RowSource): string =>
  `${source.types(SAGA_PARAMETERS)}, ${source.types(STEP_PARAMETERS)}, boolean`;
/** The types of a batch's parameters. */
export const CHECKPOINT_TYPES = typesOf(BATCH);

/** `running` needs no bytes, and what has ended is in no index that has it. */
const IDLE_STATUS = `CASE WHEN w.status <> 'running' AND w.terminal IS NOT TRUE THEN w.status END`;

/** A saga that was woken while it was held is looked at again, but for one idle. */
const DUE_AT = `CASE WHEN i.woken AND w.status IN ${inList(IN_PROGRESS)} THEN now() ELSE to_timestamp(w.due_at / 1000) END`;

/**
 * checkpoint: stores a batch of checkpoints. Fences by epoch, updates the sagas' rows, writes the steps that
 * changed, and announces those that are settled and waited for: one call, one commit. Gives the ids that were saved.
 *
 * Plan: a scan of instance_pkey for the ids, whose rows are joined with the checkpoints by a hash; then an upsert that finds
 * its row by step_pkey. Of one saga: a nested loop into instance_pkey.
 * The trap: joining unnest(...) to a table, the planner prefers to hash the whole table for a large batch, or
 * while statistics say that it is small; throughput then falls as the table grows. A nested loop from the ids opens every
 * partition. So the plan is pinned by the function's own settings, which a statement of ours on the application's connections
 * could not have, and `= ANY` bounds what is hashed. test/sagas/plans holds it there. A bitmap scan would lock the rows in the
 * order in which they are stored, and not in that of their ids, as all other statements do.
 * `force_generic_plan`: one checkpoint looks cheaper with a plan of its own than with the one for ten rows, so it
 * would be planned anew at each call: 0.26 ms in the server instead of 0.11.
 * Why a function, for one checkpoint on an idle server: sent as a statement 1.0 ms, most of it parsing and
 * planning; as a prepared statement 0.43 ms, but with a plan that can go stale and not behind every pooler; as a
 * PL/pgSQL function 0.49 ms; as an SQL function 0.51 to 0.84 ms; a bare update of one row 0.33 to 0.40 ms.
 * Rows of steps that are not stored yet are inserted as they are: as an upsert each costs a look at the index more, and
 * a second record of WAL (144 bytes a saga of three steps).
 * A checkpoint that keeps the lease leaves due_at, rank_at and idle_status alone: no indexed column changes, the update is
 * HOT, a change of the status included.
 */
export const checkpointFunction = (schema: string, channel: string): string =>
  checkpointFrom(BATCH, `${schema}.checkpoint`, schema, channel);

/** checkpoint_one: the same for one saga of which one step changed, as on an idle server. */
export const checkpointOneFunction = (schema: string, channel: string): string =>
  checkpointFrom(SINGLE, `${schema}.checkpoint_one`, schema, channel);

/**
 * In partitions, these functions are planned at each call. The planner then knows the ids, and opens the partitions that they
 * are in. One plan for all ids is of all partitions, and each new connection makes it: with 400 daily ones that took up to
 * two seconds. A call takes no longer for it, as far as could be measured: it locks fewer partitions.
 */
export const plannedPerCall = (schema: string): string[] => planCacheMode(schema, 'force_custom_plan');

/** The reverse. */
export const plannedOnce = (schema: string): string[] => planCacheMode(schema, 'force_generic_plan');

const planCacheMode = (schema: string, mode: string): string[] =>
  [`checkpoint(${typesOf(BATCH)})`, `checkpoint_one(${typesOf(SINGLE)})`].map(
    (name) => `ALTER FUNCTION ${schema}.${name} SET plan_cache_mode = ${mode}`,
  );

const checkpointFrom = (source: RowSource, name: string, schema: string, channel: string): string => `
CREATE OR REPLACE FUNCTION ${name}(${typesOf(source)})
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_mergejoin = off ${source === BATCH ? 'SET enable_nestloop = off SET enable_bitmapscan = off' : 'SET enable_hashjoin = off'} AS $function$
DECLARE
  saved uuid[];
BEGIN
  WITH updated AS (
    UPDATE ${schema}.instance i SET
      ${CHECKPOINTED.map(({ name }) => `${name} = w.${name}`).join(', ')},
      takeovers = 0, losses = CASE WHEN w.stalls THEN i.losses ELSE 0 END, checkpoints = w.number,
      locked_by = CASE WHEN w.released THEN NULL ELSE i.locked_by END,
      due_at = CASE WHEN w.released OR w.settled THEN ${DUE_AT} ELSE i.due_at END,
      rank_at = CASE WHEN w.released OR w.settled
        THEN ${DUE_AT} - i.priority * interval '${PRIORITY_POINT_MS} milliseconds'
        ELSE i.rank_at END,
      idle_status = CASE WHEN w.released OR w.settled THEN ${IDLE_STATUS} ELSE i.idle_status END,
      updated_at = now(),
      finished_at = CASE WHEN w.terminal THEN coalesce(i.finished_at, now()) END
    FROM ${source.rows(SAGA_PARAMETERS, 'w', 1)}
    WHERE i.id = w.id AND i.epoch = w.epoch AND i.checkpoints < w.number AND (i.cancel_requested_at IS NULL OR w.cancel_seen)
      AND (NOT i.pause_requested OR w.pause_seen)${source === BATCH ? ' AND i.id = ANY($1)' : ''}
    RETURNING i.id, CASE WHEN i.watched AND w.settled THEN pg_notify('${channel}', 'settled:' || i.id) END,
      CASE WHEN i.woken AND w.released AND w.settled IS NOT TRUE THEN pg_notify('${channel}', 'due') END
  )
  SELECT coalesce(array_agg(updated.id), '{}') INTO saved FROM updated;

  IF $${CHECKPOINT_ARGUMENTS} THEN
    ${insertSteps(source, schema)};
  ELSE
    ${insertSteps(source, schema)}
    ON CONFLICT (saga_id, name) DO UPDATE SET
      ${eachStepColumn(({ name }) => `${name} = excluded.${name}`)},
      progress = excluded.progress,
      updated_at = excluded.updated_at;
  END IF;

  RETURN saved;
END $function$`;

/** Steps of sagas that were not saved are left out; to look for them costs more than all the rest, and is rare. */
const insertSteps = (source: RowSource, schema: string): string => `
    INSERT INTO ${schema}.step AS s (saga_id, name, ${eachStepColumn(({ name }) => name)},
      progress, started_at, updated_at)
    SELECT c.saga_id, c.name, ${eachStepColumn(({ name, written }) => written(`c.${name}`))},
      c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM ${source.rows(STEP_PARAMETERS, 'c', SAGA_PARAMETERS.length + 1)}
    WHERE cardinality(saved) = ${source === SINGLE ? '1' : 'cardinality($1)'} OR c.saga_id = ANY(saved)`;
