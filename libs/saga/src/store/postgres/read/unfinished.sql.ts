import { sagaFields, type StoredField } from '../schema/saga-row.js';
import { STEP_COLUMNS, stepFieldsJson } from '../schema/step-row.js';

const WITHOUT_PAYLOADS = STEP_COLUMNS.filter(({ isPrivate }) => !isPrivate);

/** What a fan-out goes over, and what a signal brought, are payloads as well: how many items there are is kept. */
const withoutPayloads = (
  progress: string,
): string => `CASE WHEN pg_column_size(${progress}) < 200 THEN ${progress} ELSE (
        (${progress}::jsonb #- '{wait,payload}') || CASE WHEN ${progress} -> 'items' IS NULL THEN '{}' ELSE
          jsonb_build_object('items', to_jsonb(array_fill('null'::text, ARRAY[json_array_length(${progress} -> 'items')]))) END)::json END`;

const STANDING: readonly StoredField[] = [
  ...(['id', 'name', 'version', 'graphRevision', 'checkpoints', 'takeovers', 'status', 'heldPhase'] as const),
  ...(['failure', 'progress', 'lockedBy', 'cancelRequestedAt', 'cancelReason', 'deadlineAt'] as const),
];

/** Where an instance stands, in the columns of stored-saga.sql.ts; payloads are left out, of which there may be many megabytes. */
const standingColumns = (schema: string): string => `
  ${sagaFields('i', STANDING)}, NULL AS "lockState", false AS "inParts",
  (SELECT json_agg(json_build_object(
      'name', s.name, ${stepFieldsJson('s', WITHOUT_PAYLOADS)}, 'progress', ${withoutPayloads('s.progress')}))
    FROM ${schema}.step s WHERE s.saga_id = i.id) AS steps`;

const IS_DUE = 'i.name = $1 AND i.version = $2 AND i.rank_at IS NOT NULL';
const IS_AT_REST = 'i.name = $1 AND i.version = $2 AND i.rank_at IS NULL AND i.finished_at IS NULL';

/** All that have not ended, of a name ($1) and version ($2): scans of instance_due and instance_idle, whatever is finished. */
export const eachUnfinishedSql = (schema: string): string => `
SELECT ${standingColumns(schema)} FROM ${schema}.instance i WHERE ${IS_DUE}
UNION ALL
SELECT ${standingColumns(schema)} FROM ${schema}.instance i WHERE ${IS_AT_REST}`;

/** A page of those that are due, now or later, in the order of instance_due; $3, $4: where the one before ended. $5 limit. */
export const duePageSql = (schema: string): string => `
SELECT ${standingColumns(schema)}, i.rank_at::text AS place FROM ${schema}.instance i
WHERE ${IS_DUE} AND (i.rank_at, i.id) > ($3::timestamptz, $4::uuid)
ORDER BY i.rank_at, i.id LIMIT $5`;

/** A page of the sagas that wait, in the order of instance_idle. $3: the last id of the page before. $4: limit. */
export const atRestPageSql = (schema: string): string => `
SELECT ${standingColumns(schema)} FROM ${schema}.instance i
WHERE ${IS_AT_REST} AND i.id > $3::uuid
ORDER BY i.id LIMIT $4`;

/** The row of a version ($1, $2) that has the turns of those who move instances to it. Plan: by primary key. */
const turnRow = (schema: string): string => `g.name = $1 AND g.version = $2 AND g.revision =
  (SELECT min(f.revision) FROM ${schema}.graph f WHERE f.name = $1 AND f.version = $2)`;

/**
 * Takes a turn for $3 ms if it is due, or ($4) if no process has it. Otherwise it returns in how many ms the turn is
 * due.
 */
export const takeTurnSql = (schema: string): string => `
WITH taken AS (
  UPDATE ${schema}.graph g SET upgrade_at = now() + $3::float8 * interval '1 millisecond', upgrading = true
  WHERE ${turnRow(schema)} AND (coalesce(g.upgrade_at <= now(), true) OR ($4::boolean AND NOT g.upgrading))
  RETURNING g.upgrade)
SELECT EXISTS (SELECT FROM taken) AS taken, (SELECT upgrade FROM taken) AS progress,
  (SELECT greatest(0, extract(epoch FROM g.upgrade_at - now()) * 1000)::float8 FROM ${schema}.graph g
   WHERE ${turnRow(schema)}) AS due_in`;

/** Ends a turn. $3: what the next one is given, $4: in how many ms it is due. */
export const endTurnSql = (schema: string): string => `
UPDATE ${schema}.graph g SET upgrade = $3, upgrade_at = now() + $4::float8 * interval '1 millisecond', upgrading = false
WHERE ${turnRow(schema)}`;

/** The newest row of a version ($1, $2). Plan: by primary key. */
const newestRow = (schema: string): string => `g.name = $1 AND g.version = $2 AND g.revision =
  (SELECT max(f.revision) FROM ${schema}.graph f WHERE f.name = $1 AND f.version = $2)`;

export const acceptChangeSql = (schema: string): string => `
WITH accepted AS (UPDATE ${schema}.graph g SET change_accepted = true WHERE ${newestRow(schema)} RETURNING true)
SELECT EXISTS (SELECT FROM accepted) AS is`;

export const isChangeAcceptedSql = (schema: string): string => `
SELECT EXISTS (SELECT FROM ${schema}.graph g WHERE ${newestRow(schema)} AND g.change_accepted) AS is`;

/**
 * Sagas that have not ended and go by the newest revision keep $3, unless they adopt the next one: adoptsGraph(). Rows are locked in the order of their ids, as
 * checkpoints lock them, so that the two never deadlock.
 */
export const keepRevisionSql = (schema: string): string => `
UPDATE ${schema}.instance SET graph_revision = $3
WHERE id = ANY(ARRAY(
  SELECT l.id FROM ${schema}.instance l
  WHERE l.graph_revision IS NULL
    AND NOT (l.checkpoints = 0 AND l.takeovers = 0 AND l.status = 'running' AND l.locked_by IS NULL)
    AND l.id = ANY(ARRAY(
    SELECT i.id FROM ${schema}.instance i WHERE ${IS_DUE}
    UNION ALL
    SELECT i.id FROM ${schema}.instance i WHERE ${IS_AT_REST}))
  ORDER BY l.id FOR NO KEY UPDATE))`;

/** Stores a graph, or replaces it. Plan: by primary key. */
export const putGraphSql = (s: string): string =>
  `INSERT INTO ${s}.graph (name, version, revision, graph) VALUES ($1, $2, $3, $4)
   ON CONFLICT (name, version, revision) DO UPDATE SET graph = EXCLUDED.graph`;

/** Graphs, a row or a few for each saga that was ever deployed. */
export const storedGraphsSql = (s: string): string => `
SELECT name, version, revision, graph FROM ${s}.graph ORDER BY name, version, revision`;

/** The graphs of these sagas: $1 names, $2 versions, each of them null for all versions. */
export const graphsOfSql = (s: string): string => `
SELECT DISTINCT ON (g.name, g.version, g.revision) g.name, g.version, g.revision, g.graph
FROM unnest($1::text[], $2::int[]) AS asked(name, version)
JOIN ${s}.graph g ON g.name = asked.name AND (g.version = asked.version OR asked.version IS NULL)
ORDER BY g.name, g.version, g.revision`;
