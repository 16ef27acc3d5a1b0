import { SMALL_SAGA } from '../../../../engine/ports/payload-size.js';
import { isPending } from '../../signals/pending-signals.sql.js';
import { isFromLeastId, LEAST_ID, setLeastId } from './least-id.js';
import { PINNED } from './pinned-plan.js';

/** How far beyond the sagas that are picked first a claim looks for small ones. */
const LOOK_FURTHER = 1_000;

/**
 * The bytes of a value as text. PostgreSQL knows the size of a stored value without reading it, unless it is compressed:
 * then this decompresses it.
 */
export const exactBytes = (column: string): string =>
  `coalesce(CASE WHEN pg_column_compression(${column}) IS NULL THEN pg_column_size(${column}) ELSE octet_length(${column}::text) END, 0)::bigint`;

/** What it takes as it is stored. */
const storedBytes = (column: string): string => `coalesce(pg_column_size(${column}), 0)::bigint`;

/** The most bytes that a value can have: no compression of PostgreSQL makes a value smaller than 1/256. */
const mostBytes = (column: string): string =>
  `coalesce(pg_column_size(${column})::bigint * CASE WHEN pg_column_compression(${column}) IS NULL THEN 1 ELSE 256 END, 0)`;

/** What a step takes beside its values as JSON, and how many steps of a saga are not counted so. */
const STEP = { bytes: 500, uncounted: 64 } as const;

/**
 * All that is read with a saga, by a measure of one value: payloads, and of more than a few steps, the steps themselves.
 * Steps and signals by their primary keys.
 */
const bytesOfSaga = (schema: string, of: (column: string) => string): string => `(
    ${of('i.input')} + ${of('i.started_input')} + ${of('i.failure')} + ${of('i.progress')}
    + CASE WHEN i.checkpoints = 0 THEN 0 ELSE (
      SELECT coalesce(sum(${of('s.result')} + ${of('s.errors')} + ${of('s.progress')}), 0)
        + greatest(count(*) - ${STEP.uncounted}, 0) * ${STEP.bytes}
      FROM ${schema}.step s WHERE s.saga_id = i.id) END
    + CASE WHEN i.signals = 0 THEN 0 ELSE (
      SELECT coalesce(sum(${of('g.payload')}), 0) FROM ${schema}.signal g
      WHERE g.saga_id = i.id AND ${isPending('i', 'g')}) END)::bigint`;

/**
 * How many bytes sagas have, for statements that read whole sagas: rows are counted, and their payloads may have any size.
 * Nothing is stored for it. While all that is to be read is small, as it nearly always is, one look at the stored sizes
 * says so; the exact size, for which compressed values are read, is only asked for where a bound is near.
 */
export const bytesFunctions = (schema: string): string[] => [
  bytesAtMost(schema),
  bytes(schema),
  page(schema),
  stepPart(schema),
  signalPart(schema),
];

/** bytes_at_most: sagas have no more bytes than this, all together. Plan: by primary key. */
const bytesAtMost = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.bytes_at_most(uuid[]) RETURNS bigint LANGUAGE plpgsql STABLE
${PINNED} AS $function$
DECLARE
  ${LEAST_ID}
BEGIN
  ${setLeastId('$1')}
  RETURN (SELECT coalesce(sum(${bytesOfSaga(schema, mostBytes)}), 0)
    FROM ${schema}.instance i WHERE i.id = ANY($1) AND ${isFromLeastId('i.id')});
END $function$`;

/** bytes: the bytes of one saga; of one that has at least $2 bytes as it is stored, those. Plan: by primary key. */
const bytes = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.bytes(uuid, bigint) RETURNS bigint LANGUAGE plpgsql STABLE
${PINNED} AS $function$
DECLARE
  stored bigint;
BEGIN
  SELECT ${bytesOfSaga(schema, storedBytes)} INTO stored FROM ${schema}.instance i WHERE i.id = $1;
  IF stored >= $2 THEN RETURN stored; END IF;
  RETURN (SELECT ${bytesOfSaga(schema, exactBytes)} FROM ${schema}.instance i WHERE i.id = $1);
END $function$`;

/**
 * page: the first of these sagas that have no more than $2 bytes together, one at least. in_parts: that one has more by
 * itself, and its steps and signals are read in parts.
 */
const page = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.page(uuid[], bigint, OUT ids uuid[], OUT in_parts boolean) LANGUAGE plpgsql STABLE AS $function$
DECLARE
  total bigint := 0;
BEGIN
  ids := $1;
  in_parts := false;
  IF ${schema}.bytes_at_most($1) <= $2 THEN RETURN; END IF;
  FOR n IN 1..cardinality($1) LOOP
    total := total + ${schema}.bytes($1[n], $2 - total + 1);
    IF total > $2 THEN
      in_parts := n = 1;
      ids := $1[1:greatest(n - 1, 1)];
      RETURN;
    END IF;
  END LOOP;
END $function$`;

/**
 * step_part: of a saga's steps after a name, the last one up to which they have no more than $3 bytes together, one at
 * least; null: there are none.
 */
const stepPart = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.step_part(uuid, text, bigint) RETURNS text LANGUAGE plpgsql STABLE
${PINNED} AS $function$
DECLARE
  part record;
  total bigint := 0;
  last text;
BEGIN
  FOR part IN
    SELECT s.name, ${exactBytes('s.result')} + ${exactBytes('s.errors')} + ${exactBytes('s.progress')} + ${STEP.bytes} AS bytes
    FROM ${schema}.step s WHERE s.saga_id = $1 AND s.name > $2 ORDER BY s.name
  LOOP
    total := total + part.bytes;
    EXIT WHEN total > $3 AND last IS NOT NULL;
    last := part.name;
  END LOOP;
  RETURN last;
END $function$`;

/** signal_part: the same of the signals after a number that it has not taken yet. */
const signalPart = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.signal_part(uuid, int, bigint) RETURNS int LANGUAGE plpgsql STABLE
${PINNED} AS $function$
DECLARE
  part record;
  total bigint := 0;
  last int;
BEGIN
  FOR part IN
    SELECT g.number, ${exactBytes('g.payload')} + 200 AS bytes
    FROM ${schema}.instance i CROSS JOIN LATERAL (
      SELECT * FROM ${schema}.signal g WHERE g.saga_id = i.id AND g.number > $2 AND ${isPending('i', 'g')} ORDER BY g.number) g
    WHERE i.id = $1
  LOOP
    total := total + part.bytes;
    EXIT WHEN total > $3 AND last IS NOT NULL;
    last := part.number;
  END LOOP;
  RETURN last;
END $function$`;

/**
 * The part of due that looks at bytes, once the sagas of `picked` may have more than a claim brings. Large ones are
 * taken in their order, as long as there is room; the first that finds none lets no later one pass. Small ones pass. A
 * worker that holds no large one takes the first whatever its size, or it would never run. One that is larger than a page is
 * the only large one that a claim brings.
 * $3 limit, $4 the bytes of a page, $5 the bytes that the worker has room for, $6 it holds no large one.
 */
export const pickByBytes = (schema: string, due: string): string => `
  FOREACH candidate IN ARRAY picked LOOP
    size := ${schema}.bytes(candidate, greatest(${SMALL_SAGA + 1},
      CASE WHEN cardinality(heavy) > 0 THEN 0 WHEN large = 0 THEN greatest($4, $5) + 1 ELSE least($4, $5) - large + 1 END));
    IF size <= ${SMALL_SAGA} THEN
      small := small + size;
      EXIT WHEN small > $4;
      ids := ids || candidate;
    ELSIF cardinality(heavy) = 0 AND (large + size <= least($4, $5) OR (large = 0 AND (size <= $5 OR $6))) THEN
      large := large + size;
      ids := ids || candidate;
      IF size > $4 THEN in_parts := candidate; END IF;
    ELSE
      heavy := heavy || candidate;
    END IF;
  END LOOP;
  IF cardinality(heavy) > 0 AND cardinality(picked) >= $3 AND small <= $4 THEN
    FOR candidate IN
      SELECT c.id FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
        SELECT i.id, i.rank_at FROM ${schema}.instance i
        WHERE ${due} ORDER BY i.rank_at LIMIT $3 + ${LOOK_FURTHER}) c
      WHERE c.id <> ALL(picked) ORDER BY c.rank_at
    LOOP
      EXIT WHEN cardinality(ids) >= $3;
      size := ${schema}.bytes(candidate, ${SMALL_SAGA + 1});
      CONTINUE WHEN size > ${SMALL_SAGA};
      small := small + size;
      EXIT WHEN small > $4;
      PERFORM FROM ${schema}.instance i WHERE i.id = candidate AND i.rank_at <= now() AND i.due_at <= now()
        FOR UPDATE SKIP LOCKED;
      IF FOUND THEN ids := ids || candidate; END IF;
    END LOOP;
  END IF;`;
