-- name: lockQueues
SELECT saga.lock_queues(:names, :keys);

-- name: dequeue
SELECT saga.lock_dequeue(:ids);

-- name: handOver
SELECT saga.lock_hand_over(:name, :key);

-- name: reserve
SELECT times, clock AS now FROM saga.reserve(:saga, :step, :key, :count, :per, :attempts, :ahead, :holder, :unused);

-- name: catchUp
SELECT saga.catch_up(:names, :versions);

-- name: takeSlots
SELECT saga.take_slots(:saga, :step, :key, :count, :id, :epoch, :turn, :steps) AS taken;

-- name: freeSlots
SELECT saga.free_slots(:saga, :step, :key, :count, :id, :epoch, :turn, :steps);

-- name: fenceSlots
SELECT saga.fence_slots(:names);

-- name: sweepSlots
SELECT saga.sweep_slots(:names, :versions, :limit_names, :limit_versions, :limit_steps, :limit_counts);
