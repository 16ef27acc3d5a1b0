-- fragment: STORED_SAGA_COLUMNS(in_parts)
-- The row of the saga i with its steps and signals as JSON, for statements that read whole sagas.
-- in_parts: a condition on which its steps and signals are left to statements of their own.
  :STORED_FIELDS, coalesce(:in_parts, false) AS "inParts",
  CASE WHEN :in_parts THEN NULL ELSE (SELECT json_agg(:STEP_JSON)
    FROM saga.step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN :in_parts THEN NULL ELSE :PENDING_SIGNALS END AS signals

-- fragment: STORED_SAGA_TYPES
-- These columns, as a function declares that it returns them.
:STORED_TYPES, "inParts" boolean, steps json, signals json

-- fragment: STEP_JSON
-- The step s as JSON.
json_build_object(
      'name', s.name, :STEP_FIELDS_JSON, 'progress', s.progress,
      'startedAt', :MS(s.started_at), 'updatedAt', :MS(s.updated_at))
