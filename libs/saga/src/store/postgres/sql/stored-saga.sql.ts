import { unheardColumn } from './unheard.sql.js';

/**
 * A saga's row with its steps as JSON, for whoever reads whole sagas. Payloads come as text: the driver
 * would parse JSON null and SQL NULL into the same thing, and a result may be either.
 * @param i the alias of the instance row
 */
export const storedSagaColumns = (schema: string, i: string): string => `
  ${i}.id, ${i}.name, ${i}.version, ${i}.graph_revision, ${i}.correlation_id, ${i}.status, ${i}.stuck_in, ${i}.failure, ${i}.progress,
  ${i}.input::text AS input, ${i}.priority, ${i}.tags, ${i}.epoch, ${i}.checkpoints, ${i}.locked_by, ${i}.takeovers, ${i}.losses,
  ${i}.cancel_requested_at IS NOT NULL AS cancel_requested, ${i}.cancel_reason, ${i}.pause_requested, ${i}.overdue,
  (extract(epoch FROM ${i}.sla_at) * 1000)::float8 AS sla_at,
  ${i}.lock_key, ${i}.lock_state, ${i}.parent_id, ${i}.parent_step,
  (extract(epoch FROM ${i}.due_at) * 1000)::float8 AS due_at,
  (extract(epoch FROM ${i}.deadline_at) * 1000)::float8 AS deadline_at,
  (extract(epoch FROM ${i}.created_at) * 1000)::float8 AS created_at,
  (extract(epoch FROM ${i}.updated_at) * 1000)::float8 AS updated_at,
  (extract(epoch FROM ${i}.finished_at) * 1000)::float8 AS finished_at,
  (SELECT json_agg(json_build_object(
      'name', s.name, 'status', s.status, 'attempts', s.attempts, 'failures', s.failures, 'unknown', s."unknown",
      'compensationAttempts', s.compensation_attempts, 'compensationFailures', s.compensation_failures,
      'retryAt', (extract(epoch FROM s.retry_at) * 1000)::float8, 'result', s.result::text, 'errors', s.errors, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8,
      'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8))
    FROM ${schema}.step s WHERE s.saga_id = ${i}.id) AS steps,
  ${unheardColumn(schema, i)}`;
