/** A signal that a saga has not taken yet. @param i the alias of the instance row @param g that of the signal */
export const isPending = (i: string, g: string): string =>
  `${g}.number > coalesce((${i}.progress -> 'lastTakenSignals' ->> ${g}.name)::int, 0)`;

/** @param g the alias of the signal's row */
export const pendingJson = (g: string): string =>
  `json_build_object('number', ${g}.number, 'name', ${g}.name, 'messageId', ${g}.message_id, 'payload', ${g}.payload::text)`;

/**
 * What a saga was sent and has not taken yet, as JSON in order. Plan: by signal_pkey, and not at all for the many sagas
 * that were sent nothing.
 * @param i the alias of the instance row
 */
export const pendingColumn = (schema: string, i: string): string => `
  CASE WHEN ${i}.signals > 0 THEN (SELECT json_agg(${pendingJson('g')} ORDER BY g.number)
    FROM ${schema}.signal g
    WHERE g.saga_id = ${i}.id AND ${isPending(i, 'g')}) END`;
