/**
 * What a saga was sent and has not taken yet, as JSON in order. Plan: by signal_pkey, and not at all for the many sagas
 * that were sent nothing.
 * @param i the alias of the instance row
 */
export const unheardColumn = (schema: string, i: string): string => `
  CASE WHEN ${i}.signals > 0 THEN (SELECT json_agg(json_build_object(
      'number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text) ORDER BY g.number)
    FROM ${schema}.signal g
    WHERE g.saga_id = ${i}.id AND g.number > coalesce((${i}.progress -> 'heard' ->> g.name)::int, 0)) END AS signals`;

/** The same by itself. $1 the saga's id. */
export const unheardSql = (schema: string): string => `
SELECT ${unheardColumn(schema, 'i')} FROM ${schema}.instance i WHERE i.id = $1::uuid`;
