-- Losses kept of a saga of which nothing is recorded in between.
\set LOSSES_KEPT 5

-- fragment: TAKE_LEASE(worker, duration, moment)
-- What a claim writes to the row of a saga that it takes, as the assignments of an update of i. A row that still names a
-- worker was not given back: its lease ran out. That is counted, and it is kept who held it, from when until when. The list
-- begins anew at the first takeover after a checkpoint, so no checkpoint has to clear it. A start time that has come is
-- forgotten here, so that it is known to have come, whatever the clock shows later.
-- worker, duration: the lease; the duration is in ms. moment: the time of the claim.
    epoch = i.epoch + 1,
    takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    locked_by = :worker,
    leased_at = :moment,
    lost_leases = CASE WHEN i.locked_by IS NULL THEN i.lost_leases ELSE
      CASE WHEN i.takeovers = 0 OR i.lost_leases IS NULL THEN '[]'::jsonb
        WHEN jsonb_array_length(i.lost_leases) >= :LOSSES_KEPT THEN i.lost_leases - 0
        ELSE i.lost_leases END
      || jsonb_build_array(jsonb_build_object('worker', i.locked_by, 'from', :MS(coalesce(i.leased_at, i.created_at)),
        'until', :MS(i.due_at), 'takenOver', :MS(:moment))) END,
    woken = false,
    starts_at = CASE WHEN i.starts_at > :moment THEN i.starts_at END,
    due_at = :moment + :duration * interval '1 millisecond',
    rank_at = :moment + :duration * interval '1 millisecond'
