import { loadedOperations } from './operation.sql.js';
import { sagaFields } from '../schema/saga-row.js';
import { storedSagaColumns } from '../read/stored-saga.sql.js';

/** Whether a saga had completed, and is to be undone: it begins again, compensating. */
const isUndone = (i: string): string =>
  `(${i}.status = 'compensating' AND coalesce(${i}.failure ->> 'kind', '') = 'undone')`;

/** What of a saga is shown to people alone, beside what a worker needs. @param i the alias of the instance row */
export const aroundSaga = (schema: string, i: string): string => `
  CASE WHEN ${i}.lock_state IN ('arriving', 'waiting') THEN ${schema}.lock_holder(${i}.name, ${i}.lock_key) END AS "lockHolder",
  CASE WHEN ${i}.due_at <= now() THEN ${schema}.slots_taken(${i}.name, ${i}.limit_key) END AS "slotsTaken",
  ${loadedOperations(schema, i)} AS operations, ${sagaFields(i, ['limitKey', 'inputReplaced', 'startedInput'])}`;

/** One saga by id ($1; in parts from $2 bytes), with what it may be waiting for: who holds its semantic lock, how many leases of its name count. */
export const loadByIdSql = (schema: string): string => `
SELECT ${storedSagaColumns(schema, 'i', 'p.in_parts')}, (extract(epoch FROM now()) * 1000)::float8 AS now,
  ${aroundSaga(schema, 'i')}
FROM ${schema}.instance i CROSS JOIN LATERAL ${schema}.page(ARRAY[i.id], $2::bigint) p WHERE i.id = $1::uuid`;

/** The id of a saga by name and correlation id; one that was started without has its id for it. */
export const idByCorrelationSql = (schema: string): string => `
SELECT id FROM ${schema}.instance WHERE name = $1 AND correlation_id = $2
UNION ALL
SELECT id FROM ${schema}.instance WHERE id = $3::uuid AND name = $1 AND correlation_id IS NULL
LIMIT 1`;

export const lockSql = (schema: string): string => `
SELECT id FROM ${schema}.instance WHERE id = $1::uuid FOR UPDATE`;

/**
 * After an operator's change was checkpointed: fences off the holder of the lease. $2: the new input, if $3. The input
 * that the saga was started with is kept beside it, because repeated starts are compared with that. $4: the new
 * version. A completed saga that is undone had left the queue of its semantic lock, and enters it again at its old
 * position.
 */
export const fenceOffSql = (schema: string): string => `
UPDATE ${schema}.instance SET epoch = epoch + 1, cancel_requested_at = NULL, cancel_reason = NULL, pause_requested = false,
  input = CASE WHEN $3::boolean THEN $2::json ELSE input END, input_replaced = input_replaced OR $3::boolean,
  started_input = CASE WHEN $3::boolean AND NOT input_replaced THEN input ELSE started_input END,
  version = coalesce($4::int, version), graph_revision = CASE WHEN $4::int IS NULL THEN graph_revision END,
  lock_state = CASE WHEN lock_state IS NULL AND lock_key IS NOT NULL AND ${isUndone('instance')} THEN 'arriving'
    ELSE lock_state END,
  lock_deadlock = CASE WHEN ${isUndone('instance')} THEN NULL ELSE lock_deadlock END
WHERE id = $1::uuid`;

/** The first reason stands. Who wants it to compensate does not want it to stand still any more. */
export const requestCancelSql = (schema: string): string => `
UPDATE ${schema}.instance SET cancel_requested_at = now(), cancel_reason = $2, pause_requested = false
WHERE id = $1::uuid AND cancel_requested_at IS NULL`;

/** A step ($2) of a saga ($1) has been decided on. */
export const endTaskSql = (schema: string): string => `
DELETE FROM ${schema}.task WHERE saga_id = $1::uuid AND step = $2`;

export const requestPauseSql = (schema: string): string => `
UPDATE ${schema}.instance SET pause_requested = true WHERE id = $1::uuid`;

/**
 * Before the checkpoint of a state that the database had lost: the fencing token and the lease that go with it.
 * $1 saga, $2 epoch, $3 the worker that still runs it, or null, $4 its lease in ms, $5 when the saga was started, if its
 * start was lost, $6 and $7 its parent, $8 the number of the last signal that it has taken, $9 its start time, if that has
 * not come. A saga that is stored again, and had begun under its semantic lock, is before all others of the same key.
 */
export const putBackSql = (schema: string): string => `
UPDATE ${schema}.instance i SET epoch = $2::int, locked_by = $3::text,
  leased_at = CASE WHEN i.locked_by = $3::text THEN i.leased_at WHEN $3::text IS NOT NULL THEN now() END,
  due_at = CASE WHEN $3::text IS NULL THEN i.due_at ELSE now() + $4::float8 * interval '1 millisecond' END,
  rank_at = CASE WHEN $3::text IS NULL THEN i.rank_at ELSE now() + $4::float8 * interval '1 millisecond' END,
  created_at = coalesce(to_timestamp($5::float8 / 1000), i.created_at),
  parent_id = coalesce(i.parent_id, $6::uuid), parent_step = coalesce(i.parent_step, $7::text),
  signals = greatest(i.signals, $8::int), starts_at = to_timestamp($9::float8 / 1000),
  lock_position = CASE WHEN $5::float8 IS NULL THEN i.lock_position ELSE (SELECT min(o.lock_position) - 1
    FROM ${schema}.instance o WHERE o.name = i.name AND o.lock_key = i.lock_key AND o.lock_state IS NOT NULL) END
WHERE i.id = $1::uuid`;

/** After it: $2 is the time of the row's last change, in ms since the epoch. */
export const putBackTimeSql = (schema: string): string => `
UPDATE ${schema}.instance SET updated_at = to_timestamp($2::float8 / 1000) WHERE id = $1::uuid`;
