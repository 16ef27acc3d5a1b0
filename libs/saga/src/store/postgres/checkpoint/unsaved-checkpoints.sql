-- name: unsaved
-- How far sagas have come, and why checkpoints were not saved: the epoch tells a lost lease, the number one that is there already; else it was a cancellation.
-- Those that were deleted are `BEYOND`: nothing of them is put back.
SELECT id, epoch, checkpoints FROM saga.instance WHERE id = ANY(:ids::uuid[])
UNION ALL
SELECT d.id, :BEYOND, :BEYOND FROM saga.deleted d WHERE d.id = ANY(:ids::uuid[])
  AND NOT EXISTS (SELECT FROM saga.instance i WHERE i.id = d.id);
