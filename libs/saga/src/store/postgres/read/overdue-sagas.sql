-- name: markOverdue
-- Marks sagas that are not finished by their sla, the longest overdue first, and tells which: each once, to one process.
-- Plan: instance_sla, which holds those that are neither marked nor finished, stopped by LIMIT.
-- names names of sagas, limit how many.
WITH marked AS (
  UPDATE saga.instance i SET overdue = true
  WHERE i.id = ANY(ARRAY(
    SELECT d.id FROM saga.instance d
    WHERE d.sla_at <= now() AND NOT d.overdue AND d.finished_at IS NULL AND d.name = ANY(:names::text[])
    ORDER BY d.sla_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED))
  RETURNING i.id, i.name, i.version, i.correlation_id, i.status, i.step, i.sla_at
)
SELECT :OVERDUE_FIELDS
FROM marked m ORDER BY m.sla_at;
