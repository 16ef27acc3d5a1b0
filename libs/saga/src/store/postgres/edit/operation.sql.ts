import { APPROVAL_PREFIX } from '../../../definition/options/signal-name.js';
import { DECISION_CALLS } from '../../../engine/ports/call-table.js';
import { LARGEST_SHOWN, RECENT_OPERATIONS } from '../../../engine/ports/operation.js';

const DECISIONS = DECISION_CALLS.map((name) => `'${name}'`).join(', ');

/** @param isGiven a condition: what the call was given is returned as well */
const operationJson = (o: string, isGiven: string): string => `json_build_object(
  'id', ${o}.id, 'action', ${o}.action, 'by', ${o}.operator, 'reason', ${o}.reason, 'step', ${o}.step, 'from', ${o}.from_status,
  'revision', ${o}.revision, 'proposed', ${o}.proposed, 'newInput', nullif(${o}.new_input, false),
  'given', CASE WHEN ${isGiven} THEN ${o}.given::text END,
  'at', (extract(epoch FROM ${o}.at) * 1000)::float8)`;

/**
 * What operators did last, and the proposals that others may still join, oldest first, as JSON: `loadedOperations` in SQL.
 * Plan: the end of operation_pkey, whose last number says whether there is more. Only then the rest of the saga's
 * operations is read, for its open proposals.
 * @param i the alias of the instance row
 */
export const loadedOperations = (schema: string, i: string): string => `
(SELECT json_agg(${operationJson('o', 'o.proposed')} ORDER BY o.number) FROM (
  (SELECT * FROM ${schema}.operation WHERE saga_id = ${i}.id ORDER BY number DESC LIMIT ${RECENT_OPERATIONS})
  UNION ALL
  SELECT p.* FROM ${schema}.operation p
  WHERE p.saga_id = ${i}.id AND p.proposed
    AND p.number <= (SELECT max(l.number) - ${RECENT_OPERATIONS} FROM ${schema}.operation l WHERE l.saga_id = ${i}.id)
    AND (p.revision = ${i}.checkpoints OR p.action = 'approve' AND NOT EXISTS (
      SELECT FROM ${schema}.operation d WHERE d.saga_id = p.saga_id AND d.number > p.number AND d.step = p.step
        AND NOT d.proposed AND d.action IN (${DECISIONS})))) o)`;

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
