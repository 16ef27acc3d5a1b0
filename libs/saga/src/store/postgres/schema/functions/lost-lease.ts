/** Losses kept of a saga of which nothing is recorded in between. */
const LOSSES_KEPT = 5;

const ms = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::float8`;

/**
 * What a claim writes of leases: since when this one is held, and, of one that ran out, who held it, from when until when.
 * It rides on the claim's own update. The list begins anew at the first takeover after a checkpoint, so no checkpoint has to
 * clear it.
 * @param moment the time of the claim
 */
export const leaseColumns = (moment: string): string => `leased_at = ${moment},
    lost_leases = CASE WHEN i.locked_by IS NULL THEN i.lost_leases ELSE
      CASE WHEN i.takeovers = 0 OR i.lost_leases IS NULL THEN '[]'::jsonb
        WHEN jsonb_array_length(i.lost_leases) >= ${LOSSES_KEPT} THEN i.lost_leases - 0
        ELSE i.lost_leases END
      || jsonb_build_array(jsonb_build_object('worker', i.locked_by, 'from', ${ms('coalesce(i.leased_at, i.created_at)')},
        'until', ${ms('i.due_at')}, 'takenOver', ${ms(moment)})) END`;
