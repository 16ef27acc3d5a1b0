-- name: fence_lost
-- Takes the leases away of sagas whose last checkpoint is gone: it was committed without waiting for the
-- disk, and the server crashed, or a standby was promoted that did not have it. The worker of such a saga continues from
-- steps that are not stored, and would store only what came after them. So the saga's epoch is raised, and it is due, to
-- continue from what is stored. If the claim of the worker is gone as well, another worker may have claimed the saga under
-- the same epoch; it is fenced off, too.
--
-- Called before the checkpoint, in the same statement, so that no crash comes between the two.
-- Plan: by primary key. $1 ids, $2 epochs, $3 the numbers of the checkpoints that have to be there, $4 the
-- workers that have to hold the leases; null: any.
CREATE OR REPLACE FUNCTION saga.fence_lost(uuid[], int[], int[], text[]) RETURNS void LANGUAGE plpgsql
:PINNED AS $function$
BEGIN
  UPDATE saga.instance i SET
    epoch = i.epoch + 1, locked_by = NULL, due_at = now(),
    rank_at = :RANK_NOW(i)
  FROM unnest($1, $2, $3, $4) AS w(id, epoch, number, holder)
  WHERE i.id = w.id AND i.epoch = w.epoch AND (i.checkpoints < w.number OR i.locked_by <> w.holder);
  IF FOUND THEN PERFORM pg_notify(:CHANNEL, 'due'); END IF;
END $function$;
