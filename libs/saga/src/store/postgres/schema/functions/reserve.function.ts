/**
 * reserve_1: the earliest times at which so many attempts of a step may begin, by a rate limit for all processes.
 *
 * One row a limit keeps the last `count` times that were given out; its lock puts those who ask in an order, and
 * the clock is read under it. The n-th attempt may begin `per` after the one `count` before it. A new time is never
 * before the last one, so the row's last times are all that needs to be looked at, however far ahead they lie.
 *
 * Plan: by primary key, pinned as in checkpoint.function.ts; the table has a row for each limited step.
 * $1 saga, $2 step, $3 count, $4 per in ms, $5 attempts, $6 ms from now at which the first
 * may begin.
 */
export const reserveFunction = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.reserve_1(text, text, int, float8, int, float8)
RETURNS TABLE (times float8[], clock float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $function$
DECLARE
  kept float8[];
  given float8[] := '{}';
  size int;
  next float8;
BEGIN
  SELECT r.times INTO kept FROM ${schema}.rate_limit r WHERE r.saga = $1 AND r.step = $2 FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    INSERT INTO ${schema}.rate_limit (saga, step, times) VALUES ($1, $2, '{}') ON CONFLICT DO NOTHING;
    SELECT r.times INTO kept FROM ${schema}.rate_limit r WHERE r.saga = $1 AND r.step = $2 FOR NO KEY UPDATE;
  END IF;
  clock := extract(epoch FROM clock_timestamp()) * 1000;
  FOR n IN 1..$5 LOOP
    size := cardinality(kept);
    next := greatest(clock + $6, kept[size]);
    IF size >= $3 THEN next := greatest(next, kept[size - $3 + 1] + $4); END IF;
    kept := kept || next;
    given := given || next;
  END LOOP;
  UPDATE ${schema}.rate_limit r SET times = kept[greatest(1, cardinality(kept) - $3 + 1):]
  WHERE r.saga = $1 AND r.step = $2;
  times := given;
  RETURN NEXT;
END $function$`;
