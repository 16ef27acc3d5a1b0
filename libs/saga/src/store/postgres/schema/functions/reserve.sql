-- Rows of keys that are idle, and are deleted when a row of a new key is stored: more than one, so that they become fewer.
\set IDLE_DELETED 2

-- Times to come that one call looks at, the earliest first: are they still waited for?
\set LOOKS 100

-- Full windows that one call looks behind for a time that has come free. After that, it goes behind the last one.
\set SEARCHED 100

-- Times that are over, and are deleted by one call that gives out a time to come: more than one, so that they become fewer.
\set OVER_DELETED 10

-- Milliseconds that two times may be nearer than their window, by rounding.
\set ROUNDED 0.005

-- fragment: OF_LIMIT
-- The rows of a limit, and of a key of it.
r.saga = $1 AND r.step = $2 AND r.key = $3

-- name: reserve
-- The earliest times at which so many attempts of a step may begin, by a rate limit for all processes.
--
-- One row a limit, and a key of it, keeps the last `count` times that were given out; its lock puts those who ask in an
-- order, and the clock is read under it. The n-th attempt may begin `per` after the one `count` before it. As long as none has to
-- wait, that is all. A row of a key whose last window is over is the same as none: those who store a new key delete such rows.
--
-- While a time is given out that is yet to come, rate_time has a row for each, and for those before it that count for its window. The
-- saga that does not wait for such a time any more (it was cancelled, or has ended) has given it back: it is given to the next one that
-- asks, and so is the time between those of another count or window. Otherwise the next one comes after the last one.
--
-- A time that is used, and is yet to come, was given out before the clock was set back: it counts as now.
--
-- Plan: by primary keys, and by rate_limit_idle for a new key, pinned as in checkpoint.sql; the table has a row for
-- each limited step, or for each of its keys that is in use.
-- $1 saga, $2 step, $3 key (empty: none), $4 count, $5 per in ms, $6 attempts, $7 ms from now at which the first may begin, $8 the saga
-- that asks, $9 times that it was given, and let pass without beginning: they do not count.
CREATE OR REPLACE FUNCTION saga.reserve(text, text, text, int, float8, int, float8, uuid, float8[])
RETURNS TABLE (times float8[], clock float8) LANGUAGE plpgsql
:PINNED AS $function$
DECLARE
  stored record;
  given_out record;
  kept float8[];
  given float8[] := '{}';
  size int;
  next float8;
  behind float8;
  passed float8;
  -- Before this time none is free.
  free_from float8;
  has_gaps boolean;
  is_changed boolean := false;
BEGIN
  LOOP
    SELECT r.times, r.count, r.per, r.from_at, r.is_ahead INTO stored FROM saga.rate_limit r WHERE :OF_LIMIT
    FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO saga.rate_limit (saga, step, key, times, count, per) VALUES ($1, $2, $3, '{}', $4, $5) ON CONFLICT DO NOTHING;
    IF FOUND AND $3 <> '' THEN
      WITH idle AS (
        DELETE FROM saga.rate_limit r WHERE r.saga = $1 AND r.step = $2 AND r.key = ANY(ARRAY(
          SELECT i.key FROM saga.rate_limit i
          WHERE i.saga = $1 AND i.step = $2 AND i.idle_at < extract(epoch FROM clock_timestamp()) * 1000
          ORDER BY i.idle_at LIMIT :IDLE_DELETED FOR UPDATE SKIP LOCKED))
        RETURNING r.key)
      DELETE FROM saga.rate_time t WHERE t.saga = $1 AND t.step = $2 AND t.key = ANY(ARRAY(SELECT i.key FROM idle i));
    END IF;
  END LOOP;
  clock := extract(epoch FROM clock_timestamp()) * 1000;
  kept := stored.times;
  -- None is before those that are not kept: the last one is `per` behind them, and is over.
  FOREACH passed IN ARRAY $9 LOOP
    IF stored.is_ahead THEN
      DELETE FROM saga.rate_time r WHERE :OF_LIMIT AND r.at = passed AND r.number = (
        SELECT o.number FROM saga.rate_time o WHERE o.saga = $1 AND o.step = $2 AND o.key = $3
        AND o.at = passed AND (o.holder IS NULL OR o.holder = $8) LIMIT 1);
      is_changed := is_changed OR FOUND;
    ELSE
      size := array_position(kept, passed);
      IF size IS NOT NULL THEN kept := kept[1 : size - 1] || kept[size + 1 :]; END IF;
    END IF;
  END LOOP;
  has_gaps := stored.from_at IS NOT NULL;
  free_from := coalesce(stored.from_at, clock);
  IF NOT stored.is_ahead THEN
    IF kept[cardinality(kept)] > clock THEN kept := ARRAY(SELECT least(k, clock) FROM unnest(kept) k ORDER BY 1); END IF;
  ELSE
    is_changed := is_changed OR stored.count <> $4 OR stored.per <> $5;
    FOR given_out IN
      SELECT r.at, r.number, r.is_used, r.holder IS NOT NULL AND NOT EXISTS (
        SELECT FROM saga.instance i WHERE i.id = r.holder AND i.finished_at IS NULL AND (i.locked_by IS NOT NULL
          OR (i.progress -> 'turn' ->> 'at')::float8 = r.at
          OR EXISTS (SELECT FROM saga.step s WHERE s.saga_id = i.id AND s.status = 'waiting'
            AND (s.progress ->> 'permit')::float8 = r.at))) AS is_free
      FROM saga.rate_time r WHERE :OF_LIMIT AND r.at > clock ORDER BY r.at, r.number LIMIT :LOOKS
    LOOP
      CONTINUE WHEN NOT given_out.is_used AND NOT given_out.is_free;
      is_changed := true;
      DELETE FROM saga.rate_time r WHERE :OF_LIMIT AND r.at = given_out.at AND r.number = given_out.number;
      IF given_out.is_used THEN
        INSERT INTO saga.rate_time (saga, step, key, at, is_used) VALUES ($1, $2, $3, clock, true);
      END IF;
    END LOOP;
    IF is_changed THEN
      has_gaps := true;
      free_from := clock;
      kept := ARRAY(SELECT k.at FROM (
        SELECT r.at FROM saga.rate_time r WHERE :OF_LIMIT ORDER BY r.at DESC, r.number DESC LIMIT $4) k ORDER BY 1);
    END IF;
  END IF;
  FOR n IN 1..$6 LOOP
    size := cardinality(kept);
    next := greatest(clock + $7, kept[size]);
    IF size >= $4 THEN next := greatest(next, kept[size - $4 + 1] + $5); END IF;
    IF next > clock AND NOT stored.is_ahead THEN
      DELETE FROM saga.rate_time r WHERE :OF_LIMIT;
      INSERT INTO saga.rate_time (saga, step, key, at, is_used)
      SELECT $1, $2, $3, k, k <= clock FROM unnest(kept) k WHERE k > clock - $5;
      stored.is_ahead := true;
    END IF;
    IF has_gaps THEN
      free_from := greatest(free_from, clock + $7);
      FOR tries IN 1..:SEARCHED LOOP
        EXIT WHEN free_from >= next;
        SELECT max(w.at) + $5 INTO behind FROM (
          SELECT r.at, lead(r.at, $4 - 1) OVER (ORDER BY r.at, r.number) AS last FROM saga.rate_time r
          WHERE :OF_LIMIT AND r.at > free_from - $5 + :ROUNDED AND r.at < free_from + $5 - :ROUNDED) w
        WHERE w.last - w.at < $5 - :ROUNDED;
        EXIT WHEN behind IS NULL;
        free_from := behind;
      END LOOP;
      IF behind IS NULL OR free_from >= next THEN next := least(next, free_from); END IF;
    END IF;
    IF stored.is_ahead THEN
      INSERT INTO saga.rate_time (saga, step, key, at, is_used, holder) VALUES ($1, $2, $3, next, next <= clock, $8);
    END IF;
    IF kept[1] IS NULL OR next >= kept[cardinality(kept)] THEN kept := kept || next;
    ELSE kept := ARRAY(SELECT k FROM unnest(kept || next) k ORDER BY 1);
    END IF;
    given := given || next;
  END LOOP;
  IF stored.is_ahead THEN
    DELETE FROM saga.rate_time r WHERE :OF_LIMIT AND r.at <= clock - $5 AND r.number = ANY(ARRAY(
      SELECT o.number FROM saga.rate_time o WHERE o.saga = $1 AND o.step = $2 AND o.key = $3 AND o.at <= clock - $5
      ORDER BY o.at LIMIT :OVER_DELETED + $6));
  END IF;
  kept := kept[greatest(1, cardinality(kept) - $4 + 1):];
  UPDATE saga.rate_limit r SET times = kept, count = $4, per = $5,
    from_at = CASE WHEN has_gaps AND kept[cardinality(kept)] > greatest(clock, free_from) THEN free_from END,
    is_ahead = kept[cardinality(kept)] > clock,
    idle_at = CASE WHEN $3 <> '' THEN kept[cardinality(kept)] + $5 END
  WHERE :OF_LIMIT;
  times := given;
  RETURN NEXT;
END $function$;
