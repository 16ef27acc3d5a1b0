-- name: rest_while_paused
-- Called around the checkpoint of a saga that waits because an operator has paused its step. The worker
-- may not know yet that the step was resumed, and no process would make the saga due any more. So the saga is due at once
-- unless all of these steps are paused, and all processes are notified to read the pauses.
--
-- The shared lock on the pauses keeps a resume waiting until this commits: it finds the saga idle, and makes it due. A
-- resume locks no saga in its transaction, so that the two never deadlock.
-- $1 what the checkpoint returned: the ids that were saved, null if all of them were. $2 ids, $3 steps, a row for each of a
-- saga's steps.
CREATE OR REPLACE FUNCTION saga.rest_while_paused(uuid[], uuid[], text[]) RETURNS uuid[] LANGUAGE plpgsql
:PINNED AS $function$
BEGIN
  PERFORM FROM saga.step_pause p
  WHERE p.resumed_at IS NULL AND EXISTS (
    SELECT FROM unnest($2, $3) AS w(id, step) JOIN saga.instance i ON i.id = w.id
    WHERE i.name = p.saga AND w.step = p.step)
  ORDER BY p.id FOR SHARE OF p;

  UPDATE saga.instance u SET due_at = now(),
    rank_at = :RANK_NOW(u)
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM unnest($2, $3) AS w(id, step) JOIN saga.instance i ON i.id = w.id
    WHERE ($1 IS NULL OR i.id = ANY($1)) AND i.locked_by IS NULL AND i.status IN :IN_PROGRESS AND NOT EXISTS (
      SELECT FROM saga.step_pause p WHERE p.saga = i.name AND p.step = w.step AND p.resumed_at IS NULL)));
  IF FOUND THEN PERFORM pg_notify(:CHANNEL, 'pauses'); END IF;
  RETURN $1;
END $function$;
