-- name: set_tags
-- Stores the tags of sagas whose checkpoints the same statement has saved, and returns what that returned.
-- A function around the call of the checkpoint, so that checkpoints without tags, which are nearly all, cost nothing for
-- it: as a column of the checkpoint itself, each would send and copy them.
-- Plan: by primary key; the rows are locked already. $1 what the checkpoint returned: the ids that were saved, null if all
-- of them were. $2 ids, $3 the tags of each.
CREATE OR REPLACE FUNCTION saga.set_tags(uuid[], uuid[], text[]) RETURNS uuid[] LANGUAGE plpgsql
:PINNED AS $function$
BEGIN
  UPDATE saga.instance i SET tags = w.tags::jsonb
  FROM unnest($2, $3) AS w(id, tags)
  WHERE i.id = w.id AND ($1 IS NULL OR w.id = ANY($1));
  RETURN $1;
END $function$;
