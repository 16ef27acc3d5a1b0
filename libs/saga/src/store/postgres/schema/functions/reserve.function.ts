/** Rows of keys that are idle, and are deleted when a row of a new key is stored: more than one, so that they become fewer. */
const IDLE_DELETED = 2;

/**
 * reserve_1: the earliest times at which so many attempts of a step may begin, by a rate limit for all processes.
 *
 * One row a limit, and a key of it, keeps the last `count` times that were given out; its lock puts those who ask in an
 * order, and the clock is read under it. The n-th attempt may begin `per` after the one `count` before it. A new time is
 * never before the last one, so the row's last times are all that needs to be looked at, however far ahead they lie.
 * A row of a key whose last window is over is the same as none: those who store a new key delete such rows.
 *
 * Plan: by primary key, and by rate_limit_idle for a new key, pinned as in checkpoint.function.ts; the table has a row for
 * each limited step, or for each of its keys that is in use.
 * $1 saga, $2 step, $3 key (empty: none), $4 count, $5 per in ms, $6 attempts, $7 ms from now at which the first may begin.
 */
export const reserveFunction = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.reserve_1(text, text, text, int, float8, int, float8)
RETURNS TABLE (times float8[], clock float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $function$
DECLARE
  kept float8[];
  given float8[] := '{}';
  size int;
  next float8;
BEGIN
  LOOP
    SELECT r.times INTO kept FROM ${schema}.rate_limit r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3
    FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO ${schema}.rate_limit (saga, step, key, times) VALUES ($1, $2, $3, '{}') ON CONFLICT DO NOTHING;
    IF FOUND AND $3 <> '' THEN
      DELETE FROM ${schema}.rate_limit r WHERE r.saga = $1 AND r.step = $2 AND r.key = ANY(ARRAY(
        SELECT i.key FROM ${schema}.rate_limit i
        WHERE i.saga = $1 AND i.step = $2 AND i.idle_at < extract(epoch FROM clock_timestamp()) * 1000
        ORDER BY i.idle_at LIMIT ${IDLE_DELETED} FOR UPDATE SKIP LOCKED));
    END IF;
  END LOOP;
  clock := extract(epoch FROM clock_timestamp()) * 1000;
  FOR n IN 1..$6 LOOP
    size := cardinality(kept);
    next := greatest(clock + $7, kept[size]);
    IF size >= $4 THEN next := greatest(next, kept[size - $4 + 1] + $5); END IF;
    kept := kept || next;
    given := given || next;
  END LOOP;
  UPDATE ${schema}.rate_limit r SET
    times = kept[greatest(1, cardinality(kept) - $4 + 1):],
    idle_at = CASE WHEN $3 <> '' THEN next + $5 END
  WHERE r.saga = $1 AND r.step = $2 AND r.key = $3;
  times := given;
  RETURN NEXT;
END $function$`;
