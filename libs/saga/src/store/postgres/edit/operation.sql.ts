import { DECISION_CALLS } from '../../../engine/ports/call-table.js';
import { RECENT_OPERATIONS } from '../../../engine/ports/operation.js';

const DECISIONS = DECISION_CALLS.map((name) => `'${name}'`).join(', ');

/** @param isGiven a condition: what the call was given is returned as well */
export const operationJson = (o: string, isGiven: string): string => `json_build_object(
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
export const loadedOperationsSql = (schema: string, i: string): string => `
(SELECT json_agg(${operationJson('o', 'o.proposed')} ORDER BY o.number) FROM (
  (SELECT * FROM ${schema}.operation WHERE saga_id = ${i}.id ORDER BY number DESC LIMIT ${RECENT_OPERATIONS})
  UNION ALL
  SELECT p.* FROM ${schema}.operation p
  WHERE p.saga_id = ${i}.id AND p.proposed
    AND p.number <= (SELECT max(l.number) - ${RECENT_OPERATIONS} FROM ${schema}.operation l WHERE l.saga_id = ${i}.id)
    AND (p.revision = ${i}.checkpoints OR p.action = 'approve' AND NOT EXISTS (
      SELECT FROM ${schema}.operation d WHERE d.saga_id = p.saga_id AND d.number > p.number AND d.step = p.step
        AND NOT d.proposed AND d.action IN (${DECISIONS})))) o)`;
