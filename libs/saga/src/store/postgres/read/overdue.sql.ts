import type { OverdueSaga } from '../../../engine/ports/saga-store.js';
import { sagaFields } from '../schema/saga-row.js';

const OVERDUE: readonly (keyof OverdueSaga)[] = [
  ...(['id', 'name', 'version', 'correlationId', 'status', 'step', 'slaAt'] as const),
];

/**
 * Marks sagas that are not finished by their sla, the longest overdue first, and tells which: each once, to one process.
 * Plan: instance_sla, which holds those that are neither marked nor finished, stopped by LIMIT.
 * $1 names of sagas, $2 how many.
 */
export const markOverdueSql = (schema: string): string => `
WITH marked AS (
  UPDATE ${schema}.instance i SET overdue = true
  WHERE i.id = ANY(ARRAY(
    SELECT d.id FROM ${schema}.instance d
    WHERE d.sla_at <= now() AND NOT d.overdue AND d.finished_at IS NULL AND d.name = ANY($1::text[])
    ORDER BY d.sla_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED))
  RETURNING i.id, i.name, i.version, i.correlation_id, i.status, i.step, i.sla_at
)
SELECT ${sagaFields('m', OVERDUE)}
FROM marked m ORDER BY m.sla_at`;
