import { PRIORITY_POINT_MS } from '../../../../engine/ports/saga-store.js';
import { pickByBytes } from './bytes.function.js';
import { PINNED } from './pinned-plan.js';

/**
 * What is due, and what will be, of some names and versions ($1, $2), each up to $3: by the order of instance_due, and
 * stopped by LIMIT. Functions, so that this is the plan whatever the statistics say: with few sagas of a name in them,
 * the planner expects next to nothing to be due, reads the whole backlog by a bitmap, and sorts it for each claim.
 */
export const dueFunctions = (schema: string): string[] => [due(schema), upcoming(schema), catchUp(schema)];

const DUE =
  'i.name = d.name AND i.version = d.version AND i.rank_at >= $7 AND i.rank_at <= now() AND i.due_at <= now()';

/**
 * due: locks due sagas whose rows are free, most urgent first, and returns their ids. A saga that is newer than the
 * claim is not taken by it: its commit announces it.
 * heavy: sagas that were left because there is no room for their bytes. in_parts: the saga that has more than a page by
 * itself. last: the rank of the last one that was taken; null if some before it were left.
 * $3 limit, $4 the bytes of a page, $5 the bytes that the worker has room for, $6 it holds no large saga, $7 the rank from
 * which on.
 */
const due = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.due(text[], int[], int, bigint, bigint, boolean, timestamptz,
  OUT ids uuid[], OUT heavy uuid[], OUT in_parts uuid, OUT last timestamptz) LANGUAGE plpgsql
${PINNED} AS $function$
DECLARE
  picked uuid[];
  candidate uuid;
  size bigint;
  small bigint := 0;
  large bigint := 0;
BEGIN
  heavy := '{}';
  picked := ARRAY(
    SELECT c.id FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
      SELECT i.id, i.rank_at FROM ${schema}.instance i
      WHERE ${DUE}
      ORDER BY i.rank_at LIMIT $3 FOR UPDATE SKIP LOCKED) c
    ORDER BY c.rank_at LIMIT $3);
  ids := picked;
  IF cardinality(picked) = 0 THEN RETURN; END IF;
  IF ${schema}.bytes_at_most(picked) <= least($4, $5) THEN
    SELECT i.rank_at INTO last FROM ${schema}.instance i WHERE i.id = picked[cardinality(picked)];
    RETURN;
  END IF;
  ids := '{}';${pickByBytes(schema, DUE)}
END $function$`;

/** upcoming: the first by rank of each name and version, from the rank $4 on, as the statement that asks sees them. */
const upcoming = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.upcoming(text[], int[], int, timestamptz)
RETURNS TABLE (id uuid, due_at timestamptz) LANGUAGE plpgsql STABLE
${PINNED} AS $function$
BEGIN
  RETURN QUERY SELECT n.id, n.due_at FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
    SELECT i.id, i.due_at FROM ${schema}.instance i
    WHERE i.name = d.name AND i.version = d.version AND i.rank_at >= $4
    ORDER BY i.rank_at LIMIT $3) n;
END $function$`;

/**
 * catch_up: makes due again what was due when that was stored, and is not any more, since the server's clock was set back.
 * $1 names, $2 versions.
 */
const catchUp = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.catch_up(text[], int[]) RETURNS void LANGUAGE plpgsql
${PINNED} AS $function$
BEGIN
  UPDATE ${schema}.instance u SET due_at = now(), rank_at = now() - u.priority * interval '${PRIORITY_POINT_MS} milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM unnest($1, $2) AS d(name, version)
    JOIN ${schema}.instance i ON i.name = d.name AND i.version = d.version AND i.rank_at IS NOT NULL
    WHERE i.due_at > now() AND i.locked_by IS NULL AND (i.woken OR i.due_at <= i.updated_at)
    ORDER BY i.id FOR NO KEY UPDATE OF i));
END $function$`;
