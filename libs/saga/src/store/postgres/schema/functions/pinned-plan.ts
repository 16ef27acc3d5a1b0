/** Settings of functions whose statements have one plan, by index, whatever the statistics say: see checkpoint.function.ts. */
export const PINNED = `SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off`;
