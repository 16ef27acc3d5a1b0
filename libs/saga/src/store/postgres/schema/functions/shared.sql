-- What several functions contain.

-- fragment: MS(time)
-- Milliseconds since the epoch.
(extract(epoch FROM :time) * 1000)::float8

-- fragment: RANK_NOW(i)
-- The rank of a saga that is due now: what claims are ordered by.
now() - :i.priority * interval ':PRIORITY_POINT_MS milliseconds'

-- fragment: IS_STOPPED(i)
:i.status = 'paused' OR :i.locked_by IS NOT NULL

-- fragment: DUE_UNLESS_STOPPED(i)
-- The columns that make a saga due now. One that is paused stays so, and one that a worker holds keeps its lease.
due_at = CASE WHEN :IS_STOPPED(:i) THEN :i.due_at ELSE now() END,
      rank_at = CASE WHEN :IS_STOPPED(:i) THEN :i.rank_at
        ELSE :RANK_NOW(:i) END

-- fragment: PINNED
-- Settings of functions whose statements have one plan, by index, whatever the statistics say: see checkpoint.sql. What is off makes
-- plans expensive, over partitions above all, and PostgreSQL would compile expensive ones at each call, for seconds.
SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off

-- fragment: LEAST_ID
-- In partitions, a statement opens the partitions that its ids can be in, and not all. PostgreSQL can only tell by a
-- comparison with a value that is known before the statement begins: neither a join with the ids nor `= ANY` is one. Ids
-- ascend, so that their least one tells: there are few partitions of later days.
least_id uuid;

-- fragment: SET_LEAST_ID(ids)
-- Sets it, from an array. There is no min(uuid) before PostgreSQL 19.
least_id := (SELECT u.id FROM unnest(:ids) u(id) ORDER BY u.id LIMIT 1);

-- fragment: IS_FROM_LEAST_ID(id)
-- True for each of the ids.
:id >= least_id
