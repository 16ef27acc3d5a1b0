-- In partitions, checkpoints are planned at each call. The planner then knows the ids, and opens the partitions that they
-- are in. One plan for all ids is of all partitions, and each new connection makes it: with 400 daily ones that took up to
-- two seconds. A call takes no longer for it, as far as could be measured: it locks fewer partitions.

-- name: plan_checkpoint_per_call
ALTER FUNCTION saga.checkpoint(:CHECKPOINT_TYPES, boolean) SET plan_cache_mode = force_custom_plan;

-- name: plan_checkpoint_one_per_call
ALTER FUNCTION saga.checkpoint_one(:SAGA_TYPES_ONE, :STEP_TYPES_ONE, boolean) SET plan_cache_mode = force_custom_plan;
