import { PRIORITY_POINT_MS } from '../../../../engine/ports/saga-store.js';
import { STARTED, START_PARAMETERS } from '../../start/start-parameters.js';
import { BATCH, type RowSource, SINGLE } from './source-rows.js';

/** The maximum number of lock positions that one call may take. */
const CALL_PLACES = 1_000_000;

/** The types of a batch's parameters, after the first two and before the last. */
export const START_TYPES = BATCH.types(START_PARAMETERS);
export const START_ROWS = START_PARAMETERS.length;
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
  const rows = source.rows(START_PARAMETERS, 'w', 3);
  const insert = insertSagas(schema, rows, unique);
  const returning = 'RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i';
  return `
CREATE OR REPLACE FUNCTION ${name}(text, float8, ${source.types(START_PARAMETERS)}, boolean)
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

const eachStarted = (textOf: (column: { readonly name: string }) => string): string =>
  STARTED.map(textOf).join(', ');

const insertSagas = (schema: string, rows: string, unique: Unique): string => `
    INSERT INTO ${schema}.instance
      (${eachStarted(({ name }) => name)}, status, epoch, locked_by, due_at, rank_at, deadline_at, lock_state, lock_position,
        lock_timeout, sla_at, starts_at)
    SELECT ${eachStarted(({ name }) => `w.${name}`)}, 'running',
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '${PRIORITY_POINT_MS} milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('${schema}.lock_position')) * ${CALL_PLACES} + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM ${rows}
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t${unique.only}`;
