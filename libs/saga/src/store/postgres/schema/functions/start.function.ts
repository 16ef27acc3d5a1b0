import { PRIORITY_POINT_MS } from '../../../../engine/ports/saga-store.js';
import { BATCH, type RowSource, SINGLE } from './source-rows.js';

/** What is notified of a new saga; in the order of start-parameters.ts. A column that is null in every row is no array at all. */
export const START_COLUMNS = {
  id: 'uuid',
  name: 'text',
  version: 'int',
  correlation_id: 'text',
  step: 'text',
  input: 'json',
  tags: 'jsonb',
  priority: 'smallint',
  leased: 'boolean',
  delay: 'float8',
  start_at: 'float8',
  timeout: 'float8',
  lock_key: 'text',
  lock_order: 'int',
  sla: 'float8',
  limit_key: 'text',
};

/** The maximum number of lock positions that one call may take. */
const CALL_PLACES = 1_000_000;

/** The types of a batch's parameters, after the first two and before the last. */
export const START_TYPES = BATCH.types(START_COLUMNS);
export const START_ROWS = Object.keys(START_COLUMNS).length;
export const START_ARGUMENTS = 2 + START_ROWS + 1;

/**
 * start: stores a batch of new sagas, takes the lease of those that this worker has room for, and returns the ids of
 * those that were not there yet.
 *
 * Plan: one insert from a function scan; conflicts are found in the primary key and in instance_correlation. Rows come
 * in the order of their correlation ids, so that two processes that start the same sagas wait for each other in one
 * order. A function, so that it is parsed and planned once a connection (see checkpoint.function.ts). For sagas with a
 * semantic lock only the position in the queue is stored (by calls, then by the order within one). The claim gives the
 * lock (see lock-queue.function.ts), so that a start waits for no other saga. The subquery that draws the call's number
 * is an InitPlan: run once, and never for plain sagas.
 * $1 worker, $2 lease in ms, then the columns, and last whether nothing can be there yet: to insert without looking for
 * conflicts costs a third less.
 */
export const startFunction = (schema: string, unique: Unique = BY_INDEX): string =>
  startFrom(BATCH, `${schema}.start`, schema, unique);

/** start_one: the same for one saga, as on an idle server. */
export const startOneFunction = (schema: string, unique: Unique = BY_INDEX): string =>
  startFrom(SINGLE, `${schema}.start_one`, schema, unique);

/** What keeps correlation ids unique, around the insert of those that it lets through. */
export interface Unique {
  readonly declare: string;
  /** @param rows all that are to be started, as w */
  readonly before: (schema: string, rows: string) => string;
  /** Which of w are let through. */
  readonly only: string;
  readonly after: (schema: string, rows: string) => string;
}

const BY_INDEX: Unique = { declare: '', before: () => '', only: '', after: () => '' };

const startFrom = (source: RowSource, name: string, schema: string, unique: Unique): string => {
  const rows = source.rows(START_COLUMNS, 'w', 3);
  const insert = insertSagas(schema, rows, unique);
  const returning = 'RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i';
  return `
CREATE OR REPLACE FUNCTION ${name}(text, float8, ${source.types(START_COLUMNS)}, boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];${unique.declare}
BEGIN${unique.before(schema, rows)}
  IF $${START_ARGUMENTS} THEN
    WITH i AS (${insert} ${returning};
  ELSE
    WITH i AS (${insert} ON CONFLICT DO NOTHING ${returning};
  END IF;${unique.after(schema, rows)}
  RETURN coalesce(started, '{}');
END $function$`;
};

const insertSagas = (schema: string, rows: string, unique: Unique): string => `
    INSERT INTO ${schema}.instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '${PRIORITY_POINT_MS} milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('${schema}.lock_position')) * ${CALL_PLACES} + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM ${rows}
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t${unique.only}`;
