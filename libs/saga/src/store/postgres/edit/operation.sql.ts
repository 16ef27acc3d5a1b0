import { APPROVAL_PREFIX } from '../../../definition/options/signal-name.js';
import { LARGEST_SHOWN, RECENT_OPERATIONS } from '../../../engine/ports/operation.js';

/** @param isGiven a condition: what the call was given is returned as well */
const operationJson = (o: string, isGiven: string): string => `json_build_object(
  'id', ${o}.id, 'action', ${o}.action, 'by', ${o}.operator, 'reason', ${o}.reason, 'step', ${o}.step, 'from', ${o}.from_status,
  'revision', ${o}.revision, 'proposed', ${o}.proposed, 'newInput', ${o}.new_input,
  'given', CASE WHEN ${isGiven} THEN ${o}.given::text END,
  'at', (extract(epoch FROM ${o}.at) * 1000)::float8)`;

/** What operators did last, oldest first, as JSON. Plan: the end of operation_pkey. @param i the alias of the instance row */
export const recentOperations = (schema: string, i: string): string => `
(SELECT json_agg(${operationJson('o', 'o.proposed')} ORDER BY o.number) FROM (
  SELECT * FROM ${schema}.operation WHERE saga_id = ${i}.id ORDER BY number DESC LIMIT ${RECENT_OPERATIONS}) o)`;

/**
 * Keeps what an operator did, under the lock of the saga's row.
 * $1 saga, $2 id, $3 action, $4 operator, $5 reason, $6 step, $7 status before, $8 revision, $9 proposed, $10 new input, $11 what it was given.
 */
export const operationSql = (schema: string): string => `
INSERT INTO ${schema}.operation
  (saga_id, number, id, action, operator, reason, step, from_status, revision, proposed, new_input, given)
SELECT $1::uuid, coalesce(max(o.number), 0) + 1, $2::uuid, $3, $4, $5, $6, $7, $8::int, $9::boolean, $10::boolean, $11::json
FROM ${schema}.operation o WHERE o.saga_id = $1::uuid`;

/** What operators did, and what the saga was sent: the latest, oldest first. $1 saga, $2 how many. */
export const historySql = (schema: string): string => `
SELECT entry FROM (
  SELECT * FROM (
    (SELECT o.at, ${operationJson('o', `octet_length(o.given::text) <= ${LARGEST_SHOWN}`)} AS entry FROM ${schema}.operation o
     WHERE o.saga_id = $1::uuid ORDER BY o.number DESC LIMIT $2)
    UNION ALL
    (SELECT g.sent_at, json_build_object('action', 'signal', 'signal', g.name,
       'at', (extract(epoch FROM g.sent_at) * 1000)::float8)
     FROM ${schema}.signal g WHERE g.saga_id = $1::uuid AND NOT starts_with(g.name, '${APPROVAL_PREFIX}')
     ORDER BY g.number DESC LIMIT $2)
  ) entries ORDER BY at DESC LIMIT $2
) latest ORDER BY at`;
