import { START_PARAMETERS } from '../../start/start-parameters.js';
import { START_TYPES } from './start.function.js';

/** The places of these columns among the function's parameters. */
const place = (column: string): string => `$${3 + START_PARAMETERS.findIndex(({ name }) => name === column)}`;

/** The rows of one column that may be started. */
const free = (n: number): string =>
  `(SELECT array_agg(u.value ORDER BY u.n) FROM unnest($${n}) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free))`;

/**
 * start_rejecting: start for sagas that are not to wait for their semantic lock (\`lockMode: 'reject'\`). It leaves out
 * those whose lock another saga holds, or waits for, and of several for one lock all but the first.
 *
 * The queues are locked first (lock-queue.function.ts), so that of two processes that start at once one finds the other's.
 * In a caller's transaction they stay locked until it ends. A saga that begins later counts from that time.
 *
 * Plan: as start, after a few index lookups for each saga. The parameters are those of start.
 */
export const startRejectingFunction = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.start_rejecting(text, float8, ${START_TYPES}, boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  free bigint[];
BEGIN
  PERFORM ${schema}.lock_queues(${place('name')}, ${place('lock_key')});
  free := ARRAY(SELECT f.n FROM (
      SELECT w.n, w.name, w.key, row_number() OVER (PARTITION BY w.name, w.key ORDER BY w.lock_order) AS place
      FROM unnest(${place('name')}, ${place('lock_key')}, ${place('lock_order')}) WITH ORDINALITY AS w(name, key, lock_order, n)) f
    WHERE f.place = 1 AND ${schema}.lock_holder(f.name, f.key) IS NULL);
  IF cardinality(free) = 0 THEN RETURN '{}'; END IF;
  RETURN ${schema}.start($1, $2,
    ${START_PARAMETERS.map((_, n) => free(3 + n)).join(',\n    ')}, $${3 + START_PARAMETERS.length});
END $function$`;
