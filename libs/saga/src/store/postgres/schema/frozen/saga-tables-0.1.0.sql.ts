import type { MigrationSql } from './migration-sql.js';

/**
 * The SQL of a migration of version 0.1.0. Generated, and never edited: `UPDATE_MIGRATIONS=1` (CONTRIBUTING.md). It is a
 * module, because a module is found by every loader and bundler; an .sql file beside the code is not.
 */
export const SAGA_TABLES_0_1_0: MigrationSql = {
  up: [
    `CREATE SCHEMA IF NOT EXISTS "{schema}"`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".instance (
        id uuid PRIMARY KEY,
        created_at timestamptz NOT NULL DEFAULT now(),
        version int NOT NULL,
        graph_revision smallint,
        priority smallint NOT NULL DEFAULT 0,
        name text NOT NULL,
        correlation_id text,
        input json,
        started_input json,
        tags jsonb,
        deadline_at timestamptz,
        sla_at timestamptz,
        starts_at timestamptz,
        parent_id uuid,
        parent_step text,
        lock_key text,
        lock_position bigint,
        lock_timeout float8,
        lock_deadlock json,
        lock_state text,
        limit_key text,
        cancel_requested_at timestamptz,
        cancel_reason text,
        lost_leases jsonb,
        reports json,
        epoch int NOT NULL,
        signals int NOT NULL DEFAULT 0,
        losses smallint NOT NULL DEFAULT 0,
        takeovers smallint NOT NULL DEFAULT 0,
        pause_requested boolean NOT NULL DEFAULT false,
        input_replaced boolean NOT NULL DEFAULT false,
        overdue boolean NOT NULL DEFAULT false,
        watched boolean NOT NULL DEFAULT false,
        woken boolean NOT NULL DEFAULT false,
        locked_by text,
        leased_at timestamptz,
        due_at timestamptz,
        rank_at timestamptz,
        idle_status text,
        held_phase text,
        status text NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now(),
        checkpoints int NOT NULL DEFAULT 0,
        step text NOT NULL,
        progress json,
        finished_at timestamptz,
        error text,
        failure json
      ) WITH (fillfactor = 50)`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".step (
        saga_id uuid NOT NULL,
        name text NOT NULL,
        status text NOT NULL,
        attempts int NOT NULL DEFAULT 0,
        failures int NOT NULL DEFAULT 0,
        "unknown" boolean NOT NULL DEFAULT false,
        compensation_attempts int NOT NULL DEFAULT 0,
        compensation_failures int NOT NULL DEFAULT 0,
        retry_at timestamptz,
        result json,
        errors json,
        progress json,
        started_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga_id, name)
      )`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".signal (
        saga_id uuid NOT NULL,
        number int NOT NULL,
        name text NOT NULL,
        message_id text NOT NULL,
        payload json,
        sent_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga_id, number)
      )`,
    `
      CREATE UNIQUE INDEX IF NOT EXISTS signal_message ON "{schema}".signal (saga_id, message_id)`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".operation (
        saga_id uuid NOT NULL,
        number int NOT NULL,
        id uuid NOT NULL,
        action text NOT NULL,
        operator text,
        reason text,
        step text,
        from_status text NOT NULL,
        revision int NOT NULL,
        proposed boolean NOT NULL DEFAULT false,
        new_input boolean NOT NULL DEFAULT false,
        given json,
        at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga_id, number)
      )`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".task (
        saga_id uuid NOT NULL,
        step text NOT NULL,
        saga text NOT NULL,
        since timestamptz NOT NULL,
        PRIMARY KEY (saga_id, step)
      )`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".deleted (
        id uuid PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT now()
      )`,
    `
      CREATE INDEX IF NOT EXISTS deleted_oldest ON "{schema}".deleted (at)`,
    `
      CREATE INDEX IF NOT EXISTS task_oldest ON "{schema}".task (since, saga_id, step)`,
    `
      CREATE INDEX IF NOT EXISTS task_of_step ON "{schema}".task (saga, step, since, saga_id)`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".graph (
        name text NOT NULL,
        version int NOT NULL,
        revision smallint NOT NULL,
        graph json NOT NULL,
        stored_at timestamptz NOT NULL DEFAULT now(),
        upgrade text,
        upgrade_at timestamptz,
        upgrading boolean NOT NULL DEFAULT false,
        change_accepted boolean NOT NULL DEFAULT false,
        PRIMARY KEY (name, version, revision)
      )`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".rate_limit (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        times float8[] NOT NULL,
        count int NOT NULL,
        per float8 NOT NULL,
        from_at float8,
        is_ahead boolean NOT NULL DEFAULT false,
        idle_at float8,
        PRIMARY KEY (saga, step, key)
      ) WITH (fillfactor = 50)`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".rate_time (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        at float8 NOT NULL,
        number bigint GENERATED ALWAYS AS IDENTITY,
        is_used boolean NOT NULL,
        holder uuid,
        PRIMARY KEY (saga, step, key, at, number)
      )`,
    `
      CREATE INDEX IF NOT EXISTS rate_limit_idle ON "{schema}".rate_limit (saga, step, idle_at)
        WHERE idle_at IS NOT NULL`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".step_limit (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        checked_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga, step, key)
      ) WITH (fillfactor = 50)`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".step_slot (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        saga_id uuid NOT NULL,
        step_key text NOT NULL,
        number bigint GENERATED ALWAYS AS IDENTITY,
        epoch int NOT NULL,
        turn int NOT NULL,
        state text NOT NULL,
        since timestamptz NOT NULL DEFAULT now(),
        called_at timestamptz,
        PRIMARY KEY (saga, step, key, saga_id, step_key)
      )`,
    `
      CREATE INDEX IF NOT EXISTS step_slot_waiting ON "{schema}".step_slot (saga, step, key, number)
        WHERE state = 'waiting'`,
    `
      CREATE INDEX IF NOT EXISTS step_slot_used ON "{schema}".step_slot (saga, step, key) WHERE state <> 'waiting'`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".concurrency (
        saga text PRIMARY KEY,
        holders uuid[] NOT NULL DEFAULT '{}',
        crowded boolean NOT NULL DEFAULT false,
        last_key text
      ) WITH (fillfactor = 50)`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".schedule (
        saga text PRIMARY KEY,
        cron text NOT NULL,
        timezone text NOT NULL,
        overlap text NOT NULL,
        catch_up text NOT NULL,
        decided_until timestamptz NOT NULL,
        next_at timestamptz NOT NULL,
        paused_at timestamptz,
        paused_by text,
        pause_reason text,
        last_saga uuid,
        last_at timestamptz,
        last_triggered boolean,
        skipped_at timestamptz
      ) WITH (fillfactor = 50)`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".step_pause (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        saga text NOT NULL,
        step text NOT NULL,
        paused_at timestamptz NOT NULL DEFAULT now(),
        paused_by text,
        pause_reason text,
        resumed_at timestamptz,
        resumed_by text,
        resume_reason text,
        woken boolean NOT NULL DEFAULT false
      )`,
    `
      CREATE UNIQUE INDEX IF NOT EXISTS step_pause_active ON "{schema}".step_pause (saga, step) WHERE resumed_at IS NULL`,
    `
      CREATE TABLE IF NOT EXISTS "{schema}".shard (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        name text NOT NULL,
        number int NOT NULL,
        founders text[] NOT NULL,
        accepting boolean NOT NULL,
        changed_at timestamptz,
        changed_by text,
        change_reason text,
        closed boolean NOT NULL DEFAULT false
      )`,
    `
      CREATE INDEX IF NOT EXISTS instance_due ON "{schema}".instance (name, version, rank_at)
        WHERE rank_at IS NOT NULL`,
    `
      CREATE INDEX IF NOT EXISTS instance_idle ON "{schema}".instance (name, version, id) INCLUDE (idle_status)
        WHERE rank_at IS NULL AND finished_at IS NULL`,
    `
      CREATE UNIQUE INDEX IF NOT EXISTS instance_correlation ON "{schema}".instance (correlation_id, name)
        WHERE correlation_id IS NOT NULL`,
    `
      CREATE INDEX IF NOT EXISTS instance_lock_queue ON "{schema}".instance (name, lock_key, lock_position)
        WHERE lock_state IS NOT NULL`,
    `
      CREATE UNIQUE INDEX IF NOT EXISTS instance_lock_held ON "{schema}".instance (name, lock_key)
        WHERE lock_state = 'held'`,
    `
      CREATE INDEX IF NOT EXISTS instance_lock_inside ON "{schema}".instance (name, lock_key, lock_position)
        WHERE lock_state = 'inside'`,
    `
      CREATE INDEX IF NOT EXISTS instance_limit ON "{schema}".instance (name, version, limit_key, rank_at)
        WHERE limit_key IS NOT NULL AND rank_at IS NOT NULL`,
    `CREATE SEQUENCE IF NOT EXISTS "{schema}".lock_position`,
    `
      CREATE INDEX IF NOT EXISTS instance_sla ON "{schema}".instance (sla_at)
        WHERE sla_at IS NOT NULL AND NOT overdue AND finished_at IS NULL`,
    `
      CREATE INDEX IF NOT EXISTS instance_overdue ON "{schema}".instance (id)
        WHERE overdue AND finished_at IS NULL`,
    `
      CREATE INDEX IF NOT EXISTS instance_needs_attention ON "{schema}".instance (idle_status, id)
        WHERE idle_status IN ('stuck', 'suspended', 'paused')`,
    `
      CREATE INDEX IF NOT EXISTS instance_tags ON "{schema}".instance USING gin (tags) WHERE tags IS NOT NULL`,
    `
      CREATE INDEX IF NOT EXISTS instance_parent ON "{schema}".instance (parent_id) WHERE parent_id IS NOT NULL`,
    `
CREATE OR REPLACE FUNCTION "{schema}".start_1(text, float8, uuid[], text[], int[], text[], text[], json[], jsonb[], smallint[], boolean[], float8[], float8[], float8[], text[], int[], float8[], text[], boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
BEGIN
  IF $19 THEN
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) AS w(id, name, version, correlation_id, step, input, tags, priority, leased, delay, start_at, timeout, lock_key, lock_order, sla, limit_key)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  RETURN coalesce(started, '{}');
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".start_one_1(text, float8, uuid, text, int, text, text, json, jsonb, smallint, boolean, float8, float8, float8, text, int, float8, text, boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
  started uuid[];
BEGIN
  IF $19 THEN
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  ELSE
    WITH i AS (
    INSERT INTO "{schema}".instance
      (id, name, version, correlation_id, status, step, input, tags, priority, epoch, locked_by, due_at, rank_at,
        deadline_at, lock_key, lock_state, lock_position, lock_timeout, sla_at, limit_key, starts_at)
    SELECT w.id, w.name, w.version, w.correlation_id, 'running', w.step, w.input, w.tags, w.priority,
      CASE WHEN w.leased THEN 1 ELSE 0 END,
      CASE WHEN w.leased THEN $1 END,
      t.due_at,
      CASE WHEN w.leased THEN t.due_at ELSE t.due_at - w.priority * interval '10000 milliseconds' END,
      CASE WHEN w.lock_key IS NULL
        THEN CASE WHEN w.leased THEN now() ELSE t.due_at END + w.timeout * interval '1 millisecond' END,
      w.lock_key,
      CASE WHEN w.lock_key IS NOT NULL THEN 'arriving' END,
      CASE WHEN w.lock_key IS NOT NULL
        THEN (SELECT nextval('"{schema}".lock_position')) * 1000000 + w.lock_order END,
      CASE WHEN w.lock_key IS NOT NULL THEN w.timeout END,
      CASE WHEN w.leased THEN now() ELSE t.due_at END + w.sla * interval '1 millisecond',
      w.limit_key,
      CASE WHEN NOT w.leased AND t.due_at > now() THEN t.due_at END
    FROM (SELECT $3 AS id, $4 AS name, $5 AS version, $6 AS correlation_id, $7 AS step, $8 AS input, $9 AS tags, $10 AS priority, $11 AS leased, $12 AS delay, $13 AS start_at, $14 AS timeout, $15 AS lock_key, $16 AS lock_order, $17 AS sla, $18 AS limit_key WHERE $3 IS NOT NULL) AS w
    CROSS JOIN LATERAL (SELECT CASE
        WHEN w.leased THEN now() + $2 * interval '1 millisecond'
        WHEN w.start_at IS NOT NULL THEN greatest(now(), to_timestamp(w.start_at / 1000))
        ELSE now() + coalesce(w.delay, 0) * interval '1 millisecond'
      END AS due_at) t ON CONFLICT DO NOTHING RETURNING instance.id) SELECT array_agg(i.id) INTO started FROM i;
  END IF;
  RETURN coalesce(started, '{}');
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".checkpoint_1(uuid[], int[], int[], text[], text[], json[], text[], text[], boolean[], boolean[], boolean[], boolean[], float8[], boolean[], boolean[], json[], uuid[], text[], text[], int[], int[], boolean[], int[], int[], float8[], json[], json[], float8[], json[], boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_mergejoin = off SET enable_nestloop = off SET enable_bitmapscan = off AS $function$
DECLARE
  saved uuid[];
BEGIN
  WITH updated AS (
    UPDATE "{schema}".instance i SET
      status = w.status, held_phase = w.held_phase, failure = w.failure, step = w.step, error = w.error, progress = w.progress,
      takeovers = 0, losses = CASE WHEN w.stalls THEN i.losses ELSE 0 END, checkpoints = w.number,
      locked_by = CASE WHEN w.released THEN NULL ELSE i.locked_by END,
      due_at = CASE WHEN w.released OR w.settled THEN CASE WHEN i.woken AND w.status IN ('running', 'compensating') THEN now() ELSE to_timestamp(w.due_at / 1000) END ELSE i.due_at END,
      rank_at = CASE WHEN w.released OR w.settled
        THEN CASE WHEN i.woken AND w.status IN ('running', 'compensating') THEN now() ELSE to_timestamp(w.due_at / 1000) END - i.priority * interval '10000 milliseconds'
        ELSE i.rank_at END,
      idle_status = CASE WHEN w.released OR w.settled THEN CASE WHEN w.status <> 'running' AND w.terminal IS NOT TRUE THEN w.status END ELSE i.idle_status END,
      updated_at = now(),
      finished_at = CASE WHEN w.terminal THEN coalesce(i.finished_at, now()) END
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) AS w(id, epoch, number, status, held_phase, failure, step, error, stalls, cancel_seen, pause_seen, released, due_at, terminal, settled, progress)
    WHERE i.id = w.id AND i.epoch = w.epoch AND i.checkpoints < w.number AND (i.cancel_requested_at IS NULL OR w.cancel_seen)
      AND (NOT i.pause_requested OR w.pause_seen) AND i.id = ANY($1)
    RETURNING i.id, CASE WHEN i.watched AND w.settled THEN pg_notify('{schema}_wakeup', 'settled:' || i.id) END,
      CASE WHEN i.woken AND w.released AND w.settled IS NOT TRUE THEN pg_notify('{schema}_wakeup', 'due') END
  )
  SELECT coalesce(array_agg(updated.id), '{}') INTO saved FROM updated;

  IF $30 THEN
    
    INSERT INTO "{schema}".step AS s (saga_id, name, status, attempts, failures, "unknown", compensation_attempts,
      compensation_failures, retry_at, result, errors, progress, started_at, updated_at)
    SELECT c.saga_id, c.name, c.status, c.attempts, coalesce(c.failures, 0), coalesce(c."unknown", false),
      coalesce(c.compensation_attempts, 0), coalesce(c.compensation_failures, 0), to_timestamp(c.retry_at / 1000),
      c.result, c.errors, c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM unnest($17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29) AS c(saga_id, name, status, attempts, failures, "unknown", compensation_attempts, compensation_failures, retry_at, result, errors, elapsed, progress)
    WHERE cardinality(saved) = cardinality($1) OR c.saga_id = ANY(saved);
  ELSE
    
    INSERT INTO "{schema}".step AS s (saga_id, name, status, attempts, failures, "unknown", compensation_attempts,
      compensation_failures, retry_at, result, errors, progress, started_at, updated_at)
    SELECT c.saga_id, c.name, c.status, c.attempts, coalesce(c.failures, 0), coalesce(c."unknown", false),
      coalesce(c.compensation_attempts, 0), coalesce(c.compensation_failures, 0), to_timestamp(c.retry_at / 1000),
      c.result, c.errors, c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM unnest($17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29) AS c(saga_id, name, status, attempts, failures, "unknown", compensation_attempts, compensation_failures, retry_at, result, errors, elapsed, progress)
    WHERE cardinality(saved) = cardinality($1) OR c.saga_id = ANY(saved)
    ON CONFLICT (saga_id, name) DO UPDATE SET
      status = excluded.status, attempts = excluded.attempts, failures = excluded.failures,
      "unknown" = excluded."unknown", compensation_attempts = excluded.compensation_attempts,
      compensation_failures = excluded.compensation_failures, retry_at = excluded.retry_at,
      result = excluded.result, errors = excluded.errors, progress = excluded.progress,
      updated_at = excluded.updated_at;
  END IF;

  RETURN saved;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".checkpoint_one_1(uuid, int, int, text, text, json, text, text, boolean, boolean, boolean, boolean, float8, boolean, boolean, json, uuid, text, text, int, int, boolean, int, int, float8, json, json, float8, json, boolean)
RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_mergejoin = off SET enable_hashjoin = off AS $function$
DECLARE
  saved uuid[];
BEGIN
  WITH updated AS (
    UPDATE "{schema}".instance i SET
      status = w.status, held_phase = w.held_phase, failure = w.failure, step = w.step, error = w.error, progress = w.progress,
      takeovers = 0, losses = CASE WHEN w.stalls THEN i.losses ELSE 0 END, checkpoints = w.number,
      locked_by = CASE WHEN w.released THEN NULL ELSE i.locked_by END,
      due_at = CASE WHEN w.released OR w.settled THEN CASE WHEN i.woken AND w.status IN ('running', 'compensating') THEN now() ELSE to_timestamp(w.due_at / 1000) END ELSE i.due_at END,
      rank_at = CASE WHEN w.released OR w.settled
        THEN CASE WHEN i.woken AND w.status IN ('running', 'compensating') THEN now() ELSE to_timestamp(w.due_at / 1000) END - i.priority * interval '10000 milliseconds'
        ELSE i.rank_at END,
      idle_status = CASE WHEN w.released OR w.settled THEN CASE WHEN w.status <> 'running' AND w.terminal IS NOT TRUE THEN w.status END ELSE i.idle_status END,
      updated_at = now(),
      finished_at = CASE WHEN w.terminal THEN coalesce(i.finished_at, now()) END
    FROM (SELECT $1 AS id, $2 AS epoch, $3 AS number, $4 AS status, $5 AS held_phase, $6 AS failure, $7 AS step, $8 AS error, $9 AS stalls, $10 AS cancel_seen, $11 AS pause_seen, $12 AS released, $13 AS due_at, $14 AS terminal, $15 AS settled, $16 AS progress WHERE $1 IS NOT NULL) AS w
    WHERE i.id = w.id AND i.epoch = w.epoch AND i.checkpoints < w.number AND (i.cancel_requested_at IS NULL OR w.cancel_seen)
      AND (NOT i.pause_requested OR w.pause_seen)
    RETURNING i.id, CASE WHEN i.watched AND w.settled THEN pg_notify('{schema}_wakeup', 'settled:' || i.id) END,
      CASE WHEN i.woken AND w.released AND w.settled IS NOT TRUE THEN pg_notify('{schema}_wakeup', 'due') END
  )
  SELECT coalesce(array_agg(updated.id), '{}') INTO saved FROM updated;

  IF $30 THEN
    
    INSERT INTO "{schema}".step AS s (saga_id, name, status, attempts, failures, "unknown", compensation_attempts,
      compensation_failures, retry_at, result, errors, progress, started_at, updated_at)
    SELECT c.saga_id, c.name, c.status, c.attempts, coalesce(c.failures, 0), coalesce(c."unknown", false),
      coalesce(c.compensation_attempts, 0), coalesce(c.compensation_failures, 0), to_timestamp(c.retry_at / 1000),
      c.result, c.errors, c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM (SELECT $17 AS saga_id, $18 AS name, $19 AS status, $20 AS attempts, $21 AS failures, $22 AS "unknown", $23 AS compensation_attempts, $24 AS compensation_failures, $25 AS retry_at, $26 AS result, $27 AS errors, $28 AS elapsed, $29 AS progress WHERE $17 IS NOT NULL) AS c
    WHERE cardinality(saved) = 1 OR c.saga_id = ANY(saved);
  ELSE
    
    INSERT INTO "{schema}".step AS s (saga_id, name, status, attempts, failures, "unknown", compensation_attempts,
      compensation_failures, retry_at, result, errors, progress, started_at, updated_at)
    SELECT c.saga_id, c.name, c.status, c.attempts, coalesce(c.failures, 0), coalesce(c."unknown", false),
      coalesce(c.compensation_attempts, 0), coalesce(c.compensation_failures, 0), to_timestamp(c.retry_at / 1000),
      c.result, c.errors, c.progress, now() - coalesce(c.elapsed, 0) * interval '1 millisecond', now()
    FROM (SELECT $17 AS saga_id, $18 AS name, $19 AS status, $20 AS attempts, $21 AS failures, $22 AS "unknown", $23 AS compensation_attempts, $24 AS compensation_failures, $25 AS retry_at, $26 AS result, $27 AS errors, $28 AS elapsed, $29 AS progress WHERE $17 IS NOT NULL) AS c
    WHERE cardinality(saved) = 1 OR c.saga_id = ANY(saved)
    ON CONFLICT (saga_id, name) DO UPDATE SET
      status = excluded.status, attempts = excluded.attempts, failures = excluded.failures,
      "unknown" = excluded."unknown", compensation_attempts = excluded.compensation_attempts,
      compensation_failures = excluded.compensation_failures, retry_at = excluded.retry_at,
      result = excluded.result, errors = excluded.errors, progress = excluded.progress,
      updated_at = excluded.updated_at;
  END IF;

  RETURN saved;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".checkpoint_publish_1(uuid[], uuid[], text[], text[], text[], json[], jsonb[], text[], text[], uuid[], int[], int[], text[], text[], json[], text[], text[], boolean[], boolean[], boolean[], boolean[], float8[], boolean[], boolean[], json[], uuid[], text[], text[], int[], int[], boolean[], int[], int[], float8[], json[], json[], float8[], json[], boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  IF cardinality($8) > 0 AND current_setting('transaction_isolation') <> 'read committed' THEN RETURN ARRAY[NULL]::uuid[]; END IF;
  IF cardinality($8) > 0 THEN
    saved := "{schema}".checkpoint_locked_1($8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39);
  ELSE
    saved := "{schema}".checkpoint_1($10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39);
  END IF;
  IF cardinality(saved) = cardinality($10) THEN
    PERFORM "{schema}".publish_1($2, $3, $4, $5, $6, $7);
  ELSE
    PERFORM "{schema}".publish_1(array_agg(m.c0 ORDER BY m.place), array_agg(m.c1 ORDER BY m.place), array_agg(m.c2 ORDER BY m.place), array_agg(m.c3 ORDER BY m.place), array_agg(m.c4 ORDER BY m.place), array_agg(m.c5 ORDER BY m.place))
    FROM unnest($1, $2, $3, $4, $5, $6, $7) WITH ORDINALITY
      AS m(saga_id, c0, c1, c2, c3, c4, c5, place)
    WHERE m.saga_id = ANY(saved)
    HAVING count(*) > 0;
  END IF;
  RETURN saved;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".fence_lost_1(uuid[], int[], int[], text[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  UPDATE "{schema}".instance i SET
    epoch = i.epoch + 1, locked_by = NULL, due_at = now(),
    rank_at = now() - i.priority * interval '10000 milliseconds'
  FROM unnest($1, $2, $3, $4) AS w(id, epoch, number, holder)
  WHERE i.id = w.id AND i.epoch = w.epoch AND (i.checkpoints < w.number OR i.locked_by <> w.holder);
  IF FOUND THEN PERFORM pg_notify('{schema}_wakeup', 'due'); END IF;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".set_tags_1(uuid[], uuid[], text[]) RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  UPDATE "{schema}".instance i SET tags = w.tags::jsonb
  FROM unnest($2, $3) AS w(id, tags)
  WHERE i.id = w.id AND ($1 IS NULL OR w.id = ANY($1));
  RETURN $1;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".rest_while_paused_1(uuid[], uuid[], text[]) RETURNS uuid[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  PERFORM FROM "{schema}".step_pause p
  WHERE p.resumed_at IS NULL AND EXISTS (
    SELECT FROM unnest($2, $3) AS w(id, step) JOIN "{schema}".instance i ON i.id = w.id
    WHERE i.name = p.saga AND w.step = p.step)
  ORDER BY p.id FOR SHARE OF p;

  UPDATE "{schema}".instance u SET due_at = now(),
    rank_at = now() - u.priority * interval '10000 milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM unnest($2, $3) AS w(id, step) JOIN "{schema}".instance i ON i.id = w.id
    WHERE ($1 IS NULL OR i.id = ANY($1)) AND i.locked_by IS NULL AND i.status IN ('running', 'compensating') AND NOT EXISTS (
      SELECT FROM "{schema}".step_pause p WHERE p.saga = i.name AND p.step = w.step AND p.resumed_at IS NULL)));
  IF FOUND THEN PERFORM pg_notify('{schema}_wakeup', 'pauses'); END IF;
  RETURN $1;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".reserve_1(text, text, text, int, float8, int, float8, uuid)
RETURNS TABLE (times float8[], clock float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  stored record;
  given_out record;
  kept float8[];
  given float8[] := '{}';
  size int;
  next float8;
  behind float8;
  -- Before this time none is free.
  free_from float8;
  has_gaps boolean;
  is_changed boolean;
BEGIN
  LOOP
    SELECT r.times, r.count, r.per, r.from_at, r.is_ahead INTO stored FROM "{schema}".rate_limit r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3
    FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO "{schema}".rate_limit (saga, step, key, times, count, per) VALUES ($1, $2, $3, '{}', $4, $5) ON CONFLICT DO NOTHING;
    IF FOUND AND $3 <> '' THEN
      WITH idle AS (
        DELETE FROM "{schema}".rate_limit r WHERE r.saga = $1 AND r.step = $2 AND r.key = ANY(ARRAY(
          SELECT i.key FROM "{schema}".rate_limit i
          WHERE i.saga = $1 AND i.step = $2 AND i.idle_at < extract(epoch FROM clock_timestamp()) * 1000
          ORDER BY i.idle_at LIMIT 2 FOR UPDATE SKIP LOCKED))
        RETURNING r.key)
      DELETE FROM "{schema}".rate_time t WHERE t.saga = $1 AND t.step = $2 AND t.key = ANY(ARRAY(SELECT i.key FROM idle i));
    END IF;
  END LOOP;
  clock := extract(epoch FROM clock_timestamp()) * 1000;
  kept := stored.times;
  has_gaps := stored.from_at IS NOT NULL;
  free_from := coalesce(stored.from_at, clock);
  IF NOT stored.is_ahead THEN
    IF kept[cardinality(kept)] > clock THEN kept := ARRAY(SELECT least(k, clock) FROM unnest(kept) k ORDER BY 1); END IF;
  ELSE
    is_changed := stored.count <> $4 OR stored.per <> $5;
    FOR given_out IN
      SELECT r.at, r.number, r.is_used, r.holder IS NOT NULL AND NOT EXISTS (
        SELECT FROM "{schema}".instance i WHERE i.id = r.holder AND i.finished_at IS NULL AND (i.locked_by IS NOT NULL
          OR (i.progress -> 'turn' ->> 'at')::float8 = r.at
          OR EXISTS (SELECT FROM "{schema}".step s WHERE s.saga_id = i.id AND s.status = 'waiting'
            AND (s.progress ->> 'permit')::float8 = r.at))) AS is_free
      FROM "{schema}".rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at > clock ORDER BY r.at, r.number LIMIT 100
    LOOP
      CONTINUE WHEN NOT given_out.is_used AND NOT given_out.is_free;
      is_changed := true;
      DELETE FROM "{schema}".rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at = given_out.at AND r.number = given_out.number;
      IF given_out.is_used THEN
        INSERT INTO "{schema}".rate_time (saga, step, key, at, is_used) VALUES ($1, $2, $3, clock, true);
      END IF;
    END LOOP;
    IF is_changed THEN
      has_gaps := true;
      free_from := clock;
      kept := ARRAY(SELECT k.at FROM (
        SELECT r.at FROM "{schema}".rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 ORDER BY r.at DESC, r.number DESC LIMIT $4) k ORDER BY 1);
    END IF;
  END IF;
  FOR n IN 1..$6 LOOP
    size := cardinality(kept);
    next := greatest(clock + $7, kept[size]);
    IF size >= $4 THEN next := greatest(next, kept[size - $4 + 1] + $5); END IF;
    IF next > clock AND NOT stored.is_ahead THEN
      DELETE FROM "{schema}".rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3;
      INSERT INTO "{schema}".rate_time (saga, step, key, at, is_used)
      SELECT $1, $2, $3, k, k <= clock FROM unnest(kept) k WHERE k > clock - $5;
      stored.is_ahead := true;
    END IF;
    IF has_gaps THEN
      free_from := greatest(free_from, clock + $7);
      FOR tries IN 1..100 LOOP
        EXIT WHEN free_from >= next;
        SELECT max(w.at) + $5 INTO behind FROM (
          SELECT r.at, lead(r.at, $4 - 1) OVER (ORDER BY r.at, r.number) AS last FROM "{schema}".rate_time r
          WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at > free_from - $5 + 0.005 AND r.at < free_from + $5 - 0.005) w
        WHERE w.last - w.at < $5 - 0.005;
        EXIT WHEN behind IS NULL;
        free_from := behind;
      END LOOP;
      IF behind IS NULL OR free_from >= next THEN next := least(next, free_from); END IF;
    END IF;
    IF stored.is_ahead THEN
      INSERT INTO "{schema}".rate_time (saga, step, key, at, is_used, holder) VALUES ($1, $2, $3, next, next <= clock, $8);
    END IF;
    IF kept[1] IS NULL OR next >= kept[cardinality(kept)] THEN kept := kept || next;
    ELSE kept := ARRAY(SELECT k FROM unnest(kept || next) k ORDER BY 1);
    END IF;
    given := given || next;
  END LOOP;
  IF stored.is_ahead THEN
    DELETE FROM "{schema}".rate_time r WHERE r.saga = $1 AND r.step = $2 AND r.key = $3 AND r.at <= clock - $5 AND r.number = ANY(ARRAY(
      SELECT o.number FROM "{schema}".rate_time o WHERE o.saga = $1 AND o.step = $2 AND o.key = $3 AND o.at <= clock - $5
      ORDER BY o.at LIMIT 10 + $6));
  END IF;
  kept := kept[greatest(1, cardinality(kept) - $4 + 1):];
  UPDATE "{schema}".rate_limit r SET times = kept, count = $4, per = $5,
    from_at = CASE WHEN has_gaps AND kept[cardinality(kept)] > greatest(clock, free_from) THEN free_from END,
    is_ahead = kept[cardinality(kept)] > clock,
    idle_at = CASE WHEN $3 <> '' THEN kept[cardinality(kept)] + $5 END
  WHERE r.saga = $1 AND r.step = $2 AND r.key = $3;
  times := given;
  RETURN NEXT;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".cleanup_1(text, float8, timestamptz, uuid, int, boolean, boolean)
RETURNS TABLE (looked int, gone int, place text, place_id uuid) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  roots uuid[];
  times timestamptz[];
  family uuid[];
  tops uuid[];
  free uuid[];
  kept uuid[];
BEGIN
  IF $7 AND NOT pg_try_advisory_xact_lock(1735356005, hashtext($q$"{schema}"$q$)) THEN
    RETURN;
  END IF;
  IF $6 THEN
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (
      SELECT i.id, i.finished_at FROM "{schema}".instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5) o;
  ELSE
    SELECT array_agg(o.id ORDER BY o.finished_at, o.id), array_agg(o.finished_at ORDER BY o.finished_at, o.id)
    INTO roots, times FROM (
      SELECT i.id, i.finished_at FROM "{schema}".instance i
      WHERE i.name = $1 AND i.parent_id IS NULL AND i.finished_at < now() - $2 * interval '1 millisecond'
        AND (i.finished_at, i.id) > ($3, $4)
      ORDER BY i.finished_at, i.id LIMIT $5 FOR UPDATE SKIP LOCKED) o;
  END IF;
  IF NOT $6 THEN
    DELETE FROM "{schema}".deleted d WHERE d.id = ANY (ARRAY(
      SELECT o.id FROM "{schema}".deleted o WHERE o.at < now() - 7200000 * interval '1 millisecond' ORDER BY o.at LIMIT 2 * $5 FOR UPDATE SKIP LOCKED));
  END IF;
  looked := coalesce(cardinality(roots), 0);
  gone := 0;
  IF looked > 0 THEN
    place := times[looked]::text;
    place_id := roots[looked];
    WITH RECURSIVE f AS (
      SELECT r.id, r.id AS top FROM unnest(roots) AS r(id)
      UNION ALL
      SELECT c.id, f.top FROM f JOIN "{schema}".instance c ON c.parent_id = f.id
    )
    SELECT array_agg(f.id), array_agg(f.top) INTO family, tops FROM f;
    IF $6 THEN
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL) e;
    ELSE
      SELECT array_agg(e.id) INTO free FROM (SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(family) AND i.finished_at IS NOT NULL AND i.lock_state IS NULL FOR UPDATE SKIP LOCKED) e;
    END IF;
    IF cardinality(free) < cardinality(family) THEN
      SELECT array_agg(w.top) INTO kept FROM unnest(family, tops) AS w(id, top) WHERE w.id <> ALL(free);
      SELECT array_agg(w.id) INTO family FROM unnest(family, tops) AS w(id, top) WHERE w.top <> ALL(kept);
    END IF;
    gone := coalesce(cardinality(family), 0);
    IF NOT $6 AND gone > 0 THEN
      INSERT INTO "{schema}".deleted (id) SELECT i.id FROM "{schema}".instance i
      WHERE i.id = ANY(family) AND i.finished_at > now() - 7200000 * interval '1 millisecond' ON CONFLICT (id) DO UPDATE SET at = now();
      DELETE FROM "{schema}".step b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".signal b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".operation b WHERE b.saga_id = ANY(family);
      DELETE FROM "{schema}".instance i WHERE i.id = ANY(family);
    END IF;
  END IF;
  RETURN NEXT;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".signal_1(uuid[], text[], text[], text[], text[], json[], jsonb)
RETURNS TABLE (place int, outcome text, id uuid, name text, version int, status text, awaited text[], elsewhere boolean) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
#variable_conflict use_column
DECLARE
  given record;
  saga record;
  known jsonb;
BEGIN
  FOR given IN
    SELECT w.place::int, w.signal, w.message_id, w.payload, CASE WHEN w.saga IS NULL THEN w.id ELSE coalesce(
        (SELECT i.id FROM "{schema}".instance i WHERE i.correlation_id = w.correlation_id AND i.name = w.saga),
        (SELECT i.id FROM "{schema}".instance i WHERE i.id = w.id AND i.name = w.saga AND i.correlation_id IS NULL)) END AS id
    FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS w(id, saga, correlation_id, signal, message_id, payload, place)
    ORDER BY 5, 1
  LOOP
    place := given.place;
    id := given.id;
    SELECT i.name, i.version, i.graph_revision, i.status, i.signals, i.locked_by,
      coalesce(jsonb_exists((i.progress -> 'awaits')::jsonb, given.signal), false) AS awaits,
      i.locked_by IS NULL AND i.status IN ('running', 'compensating') AS rests
    INTO saga FROM "{schema}".instance i WHERE i.id = given.id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      outcome := 'unknown';
      RETURN NEXT;
      CONTINUE;
    END IF;
    name := saga.name;
    version := saga.version;
    status := saga.status;
    known := CASE WHEN saga.graph_revision IS NULL THEN $7 -> (saga.name || '@' || saga.version) END;
    awaited := NULL;
    IF NOT ($7 IS NULL OR saga.awaits OR coalesce(jsonb_exists(known, given.signal), false)) THEN
      SELECT array(
        SELECT n.signal FROM json_array_elements(g.graph -> 'steps') s(step),
          LATERAL (VALUES (s.step ->> 'signal'), (s.step ->> 'reply')) n(signal)
        WHERE n.signal IS NOT NULL)
      INTO awaited FROM "{schema}".graph g
      WHERE g.name = saga.name AND g.version = saga.version AND g.revision = coalesce(saga.graph_revision,
        (SELECT max(n.revision) FROM "{schema}".graph n WHERE n.name = saga.name AND n.version = saga.version));
      IF known IS NOT NULL THEN
        awaited := coalesce(awaited, '{}') || array(SELECT jsonb_array_elements_text(known));
      END IF;
    END IF;
    IF EXISTS (SELECT FROM "{schema}".signal g WHERE g.saga_id = given.id AND g.message_id = given.message_id) THEN
      outcome := 'known';
    ELSIF given.signal <> ALL (awaited) THEN
      outcome := 'refused';
      elsewhere := EXISTS (SELECT FROM "{schema}".graph g, LATERAL json_array_elements(g.graph -> 'steps') s(step)
        WHERE g.name = saga.name AND given.signal IN (s.step ->> 'signal', s.step ->> 'reply'));
    ELSIF saga.status IN ('completed', 'compensated', 'aborted') THEN
      outcome := 'ended';
    ELSE
      outcome := 'kept';
      INSERT INTO "{schema}".signal (saga_id, number, name, message_id, payload)
      VALUES (given.id, saga.signals + 1, given.signal, given.message_id, given.payload);
      UPDATE "{schema}".instance i SET
        signals = i.signals + 1,
        woken = i.woken OR saga.locked_by IS NOT NULL,
        due_at = CASE WHEN saga.rests AND saga.awaits THEN now() ELSE i.due_at END,
        rank_at = CASE WHEN saga.rests AND saga.awaits THEN now() - i.priority * interval '10000 milliseconds' ELSE i.rank_at END
      WHERE i.id = given.id;
      IF saga.rests AND saga.awaits THEN
        PERFORM pg_notify('{schema}_wakeup', 'due');
      ELSIF saga.locked_by IS NOT NULL THEN
        PERFORM pg_notify('{schema}_wakeup', 'look:' || given.id);
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".bytes_at_most_1(uuid[]) RETURNS bigint LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  least_id uuid;
BEGIN
  least_id := (SELECT u.id FROM unnest($1) u(id) ORDER BY u.id LIMIT 1);
  RETURN (SELECT coalesce(sum((
    coalesce(pg_column_size(i.input)::bigint * CASE WHEN pg_column_compression(i.input) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(i.started_input)::bigint * CASE WHEN pg_column_compression(i.started_input) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(i.failure)::bigint * CASE WHEN pg_column_compression(i.failure) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(i.progress)::bigint * CASE WHEN pg_column_compression(i.progress) IS NULL THEN 1 ELSE 256 END, 0)
    + CASE WHEN i.checkpoints = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(pg_column_size(s.result)::bigint * CASE WHEN pg_column_compression(s.result) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(s.errors)::bigint * CASE WHEN pg_column_compression(s.errors) IS NULL THEN 1 ELSE 256 END, 0) + coalesce(pg_column_size(s.progress)::bigint * CASE WHEN pg_column_compression(s.progress) IS NULL THEN 1 ELSE 256 END, 0)), 0)
        + greatest(count(*) - 64, 0) * 500
      FROM "{schema}".step s WHERE s.saga_id = i.id) END
    + CASE WHEN i.signals = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(pg_column_size(g.payload)::bigint * CASE WHEN pg_column_compression(g.payload) IS NULL THEN 1 ELSE 256 END, 0)), 0) FROM "{schema}".signal g
      WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END)::bigint), 0)
    FROM "{schema}".instance i WHERE i.id = ANY($1) AND i.id >= least_id);
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".bytes_1(uuid, bigint) RETURNS bigint LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  stored bigint;
BEGIN
  SELECT (
    coalesce(pg_column_size(i.input), 0)::bigint + coalesce(pg_column_size(i.started_input), 0)::bigint + coalesce(pg_column_size(i.failure), 0)::bigint + coalesce(pg_column_size(i.progress), 0)::bigint
    + CASE WHEN i.checkpoints = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(pg_column_size(s.result), 0)::bigint + coalesce(pg_column_size(s.errors), 0)::bigint + coalesce(pg_column_size(s.progress), 0)::bigint), 0)
        + greatest(count(*) - 64, 0) * 500
      FROM "{schema}".step s WHERE s.saga_id = i.id) END
    + CASE WHEN i.signals = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(pg_column_size(g.payload), 0)::bigint), 0) FROM "{schema}".signal g
      WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END)::bigint INTO stored FROM "{schema}".instance i WHERE i.id = $1;
  IF stored >= $2 THEN RETURN stored; END IF;
  RETURN (SELECT (
    coalesce(CASE WHEN pg_column_compression(i.input) IS NULL THEN pg_column_size(i.input) ELSE octet_length(i.input::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(i.started_input) IS NULL THEN pg_column_size(i.started_input) ELSE octet_length(i.started_input::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(i.failure) IS NULL THEN pg_column_size(i.failure) ELSE octet_length(i.failure::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(i.progress) IS NULL THEN pg_column_size(i.progress) ELSE octet_length(i.progress::text) END, 0)::bigint
    + CASE WHEN i.checkpoints = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(CASE WHEN pg_column_compression(s.result) IS NULL THEN pg_column_size(s.result) ELSE octet_length(s.result::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(s.errors) IS NULL THEN pg_column_size(s.errors) ELSE octet_length(s.errors::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(s.progress) IS NULL THEN pg_column_size(s.progress) ELSE octet_length(s.progress::text) END, 0)::bigint), 0)
        + greatest(count(*) - 64, 0) * 500
      FROM "{schema}".step s WHERE s.saga_id = i.id) END
    + CASE WHEN i.signals = 0 THEN 0 ELSE (
      SELECT coalesce(sum(coalesce(CASE WHEN pg_column_compression(g.payload) IS NULL THEN pg_column_size(g.payload) ELSE octet_length(g.payload::text) END, 0)::bigint), 0) FROM "{schema}".signal g
      WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END)::bigint FROM "{schema}".instance i WHERE i.id = $1);
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".page_1(uuid[], bigint, OUT ids uuid[], OUT in_parts boolean) LANGUAGE plpgsql STABLE AS $function$
DECLARE
  total bigint := 0;
BEGIN
  ids := $1;
  in_parts := false;
  IF "{schema}".bytes_at_most_1($1) <= $2 THEN RETURN; END IF;
  FOR n IN 1..cardinality($1) LOOP
    total := total + "{schema}".bytes_1($1[n], $2 - total + 1);
    IF total > $2 THEN
      in_parts := n = 1;
      ids := $1[1:greatest(n - 1, 1)];
      RETURN;
    END IF;
  END LOOP;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".step_part_1(uuid, text, bigint) RETURNS text LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  part record;
  total bigint := 0;
  last text;
BEGIN
  FOR part IN
    SELECT s.name, coalesce(CASE WHEN pg_column_compression(s.result) IS NULL THEN pg_column_size(s.result) ELSE octet_length(s.result::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(s.errors) IS NULL THEN pg_column_size(s.errors) ELSE octet_length(s.errors::text) END, 0)::bigint + coalesce(CASE WHEN pg_column_compression(s.progress) IS NULL THEN pg_column_size(s.progress) ELSE octet_length(s.progress::text) END, 0)::bigint + 500 AS bytes
    FROM "{schema}".step s WHERE s.saga_id = $1 AND s.name > $2 ORDER BY s.name
  LOOP
    total := total + part.bytes;
    EXIT WHEN total > $3 AND last IS NOT NULL;
    last := part.name;
  END LOOP;
  RETURN last;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".signal_part_1(uuid, int, bigint) RETURNS int LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  part record;
  total bigint := 0;
  last int;
BEGIN
  FOR part IN
    SELECT g.number, coalesce(CASE WHEN pg_column_compression(g.payload) IS NULL THEN pg_column_size(g.payload) ELSE octet_length(g.payload::text) END, 0)::bigint + 200 AS bytes
    FROM "{schema}".instance i CROSS JOIN LATERAL (
      SELECT * FROM "{schema}".signal g WHERE g.saga_id = i.id AND g.number > $2 AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0) ORDER BY g.number) g
    WHERE i.id = $1
  LOOP
    total := total + part.bytes;
    EXIT WHEN total > $3 AND last IS NOT NULL;
    last := part.number;
  END LOOP;
  RETURN last;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".family_locks_1(uuid)
RETURNS TABLE (holder uuid, holder_name text, holder_key text) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  RETURN QUERY WITH RECURSIVE up AS (
    SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM "{schema}".instance i
    WHERE i.id = $1 AND i.status NOT IN ('compensated', 'aborted')
    UNION ALL
    SELECT i.id, i.parent_id, i.name, i.lock_key, i.lock_state FROM up
    JOIN "{schema}".instance i ON i.id = up.parent_id WHERE i.status NOT IN ('compensated', 'aborted')
  )
  SELECT up.id, up.name, up.lock_key FROM up WHERE up.lock_state IN ('held', 'inside');
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".look_again_1(uuid) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  WITH RECURSIVE down AS (
    SELECT c.id FROM "{schema}".instance c WHERE c.parent_id = $1 AND c.status NOT IN ('compensated', 'aborted')
    UNION ALL
    SELECT c.id FROM down JOIN "{schema}".instance c ON c.parent_id = down.id WHERE c.status NOT IN ('compensated', 'aborted')
  )
  UPDATE "{schema}".instance i SET
    due_at = now(), rank_at = now() - i.priority * interval '10000 milliseconds'
  FROM down WHERE i.id = down.id AND coalesce(i.lock_state, '') = 'waiting' AND i.locked_by IS NULL AND i.status <> 'paused';
  IF FOUND THEN PERFORM pg_notify('{schema}_wakeup', 'due'); END IF;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".lock_families_1(uuid[], int[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  PERFORM FROM unnest($1, $2) AS w(id, epoch)
  JOIN "{schema}".instance i ON i.id = w.id AND i.epoch = w.epoch
  WHERE coalesce(i.lock_state, '') IN ('arriving', 'waiting')
    AND CASE WHEN i.parent_id IS NULL THEN false ELSE EXISTS (SELECT FROM "{schema}".family_locks_1(i.parent_id)) END
  LIMIT 1;
  IF FOUND THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('families', hashtext($q$"{schema}"$q$)));
  END IF;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".break_circle_1(uuid) RETURNS json LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  own record;
  kin uuid[];
  reached uuid[];
  waiters uuid[];
  circle json;
BEGIN
  SELECT i.id, i.name, i.lock_key, i.parent_id, i.status INTO own FROM "{schema}".instance i WHERE i.id = $1;
  kin := ARRAY(SELECT f.holder FROM "{schema}".family_locks_1(own.parent_id) f);
  IF cardinality(kin) = 0 THEN RETURN NULL; END IF;
  WITH RECURSIVE reach AS (
    SELECT s.id FROM (
      SELECT h.id FROM "{schema}".instance h
      WHERE h.name = own.name AND h.lock_key = own.lock_key AND h.lock_state = 'held'
      UNION ALL
      SELECT h.id FROM "{schema}".instance h
      WHERE h.name = own.name AND h.lock_key = own.lock_key AND h.lock_state = 'inside') s
    UNION
    SELECT n.id FROM reach r CROSS JOIN LATERAL (
      SELECT c.id FROM "{schema}".instance c WHERE c.parent_id = r.id AND c.status NOT IN ('compensated', 'aborted')
      UNION ALL
      SELECT s.id FROM "{schema}".instance w CROSS JOIN LATERAL (
      SELECT h.id FROM "{schema}".instance h
      WHERE h.name = w.name AND h.lock_key = w.lock_key AND h.lock_state = 'held'
      UNION ALL
      SELECT h.id FROM "{schema}".instance h
      WHERE h.name = w.name AND h.lock_key = w.lock_key AND h.lock_state = 'inside') s
      WHERE w.id = r.id AND coalesce(w.lock_state, '') = 'waiting'
    ) n WHERE r.id <> ALL(kin)
  )
  SELECT array_agg(reach.id) INTO reached FROM reach;
  circle := (
    SELECT json_build_object('key', own.lock_key, 'holder', json_build_object('id', h.id, 'name', h.name),
      'held', json_build_object('id', f.holder, 'name', f.holder_name, 'key', f.holder_key))
    FROM "{schema}".family_locks_1(own.parent_id) f, "{schema}".instance h
    WHERE f.holder = ANY(reached) AND h.name = own.name AND h.lock_key = own.lock_key AND h.lock_state = 'held' LIMIT 1);
  IF circle IS NULL OR own.status = 'running' THEN RETURN circle; END IF;
  PERFORM FROM "{schema}".instance i
    WHERE i.id = ANY(reached) AND coalesce(i.lock_state, '') = 'waiting' AND EXISTS (
      SELECT FROM "{schema}".family_locks_1(own.parent_id) f WHERE f.holder_name = i.name AND f.holder_key = i.lock_key) AND NOT (i.status = 'running' OR (i.status = 'paused' AND i.held_phase = 'running'));
  IF FOUND THEN RETURN circle; END IF;
  waiters := ARRAY(SELECT i.id FROM "{schema}".instance i
    WHERE i.id = ANY(reached) AND coalesce(i.lock_state, '') = 'waiting' AND EXISTS (
      SELECT FROM "{schema}".family_locks_1(own.parent_id) f WHERE f.holder_name = i.name AND f.holder_key = i.lock_key) ORDER BY i.id);
  UPDATE "{schema}".instance i SET
    lock_state = NULL,
    lock_deadlock = (
    SELECT json_build_object('key', i.lock_key, 'holder', json_build_object('id', h.id, 'name', h.name),
      'held', json_build_object('id', f.holder, 'name', f.holder_name, 'key', f.holder_key))
    FROM "{schema}".family_locks_1(i.parent_id) f, "{schema}".instance h
    WHERE f.holder = ANY(reached) AND h.name = i.name AND h.lock_key = i.lock_key AND h.lock_state = 'held' LIMIT 1),
    due_at = CASE WHEN i.status = 'paused' OR i.locked_by IS NOT NULL THEN i.due_at ELSE now() END,
      rank_at = CASE WHEN i.status = 'paused' OR i.locked_by IS NOT NULL THEN i.rank_at
        ELSE now() - i.priority * interval '10000 milliseconds' END
  WHERE i.id = ANY(waiters) AND coalesce(i.lock_state, '') = 'waiting';
  PERFORM pg_notify('{schema}_wakeup', 'due');
  RETURN NULL;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".lock_queues_1(text[], text[]) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  queue bigint;
BEGIN
  IF cardinality($1) > 0 AND current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'lock queues can be locked at READ COMMITTED only' USING ERRCODE = 'SG001';
  END IF;
  FOR queue IN
    SELECT DISTINCT hashtextextended(format('%L %L', w.name, w.key), hashtext($q$"{schema}"$q$)) AS h
    FROM unnest($1, $2) AS w(name, key) ORDER BY h
  LOOP
    PERFORM pg_advisory_xact_lock(queue);
  END LOOP;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".lock_holder_1(text, text) RETURNS uuid LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  RETURN coalesce(
    (SELECT h.id FROM "{schema}".instance h WHERE h.name = $1 AND h.lock_key = $2 AND h.lock_state = 'held'),
    (SELECT l.id FROM "{schema}".instance l WHERE l.name = $1 AND l.lock_key = $2 AND l.lock_state IS NOT NULL
      AND (l.lock_state <> 'arriving' OR coalesce(l.starts_at <= clock_timestamp(), true)
        AND (l.locked_by IS NOT NULL OR l.due_at <= clock_timestamp()))
     ORDER BY l.lock_position LIMIT 1));
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".lock_hand_over_1(text, text) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  next record;
BEGIN
  PERFORM FROM "{schema}".instance h WHERE h.name = $1 AND h.lock_key = $2 AND h.lock_state = 'held';
  IF FOUND THEN RETURN; END IF;
  UPDATE "{schema}".instance i SET lock_state = 'held'
  WHERE i.id = (SELECT n.id FROM "{schema}".instance n WHERE n.name = $1 AND n.lock_key = $2 AND n.lock_state = 'inside'
    ORDER BY n.lock_position LIMIT 1);
  IF FOUND THEN RETURN; END IF;
  SELECT l.id, l.lock_state, l.status <> 'running' AS undone INTO next FROM "{schema}".instance l
  WHERE l.name = $1 AND l.lock_key = $2 AND l.lock_state IS NOT NULL
      AND (l.lock_state <> 'arriving' OR coalesce(l.starts_at <= clock_timestamp(), true)
        AND (l.locked_by IS NOT NULL OR l.due_at <= clock_timestamp()))
  ORDER BY l.lock_position LIMIT 1;
  IF next.lock_state = 'waiting' THEN
    UPDATE "{schema}".instance i SET
      lock_state = 'held',
      due_at = CASE WHEN i.status = 'paused' OR i.locked_by IS NOT NULL THEN i.due_at ELSE now() END,
      rank_at = CASE WHEN i.status = 'paused' OR i.locked_by IS NOT NULL THEN i.rank_at
        ELSE now() - i.priority * interval '10000 milliseconds' END,
      deadline_at = now() + i.lock_timeout * interval '1 millisecond'
    WHERE i.id = next.id;
    PERFORM pg_notify('{schema}_wakeup', 'due');
    IF next.undone THEN PERFORM "{schema}".look_again_1(next.id); END IF;
  END IF;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".lock_dequeue_1(uuid[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  gone record;
BEGIN
  FOR gone IN
    -- Not IS NOT NULL: a plan made while no saga was in the queue would read instance_lock_queue from end to end.
    UPDATE "{schema}".instance i SET lock_state = NULL, locked_by = CASE WHEN i.status IN ('completed', 'compensated', 'aborted') THEN NULL ELSE i.locked_by END, due_at = CASE WHEN i.status IN ('completed', 'compensated', 'aborted') THEN NULL ELSE i.due_at END, rank_at = CASE WHEN i.status IN ('completed', 'compensated', 'aborted') THEN NULL ELSE i.rank_at END, takeovers = CASE WHEN i.status IN ('completed', 'compensated', 'aborted') THEN 0 ELSE i.takeovers END
    WHERE i.id = ANY($1) AND coalesce(i.lock_state, '') <> ''
      AND (i.status IN ('completed', 'compensated', 'aborted')
        OR (i.lock_state NOT IN ('held', 'inside') AND NOT (i.status = 'compensating' AND coalesce(i.failure ->> 'kind', '') = 'undone')
          AND (i.status NOT IN ('running', 'paused') OR i.cancel_requested_at IS NOT NULL)))
    RETURNING i.name, i.lock_key
  LOOP
    PERFORM "{schema}".lock_hand_over_1(gone.name, gone.lock_key);
  END LOOP;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".lock_enqueue_1(uuid[], int[], text[], text[])
RETURNS TABLE (ready uuid, deadline float8, held boolean, deadlock json, cancelled boolean, reason text) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  given record;
  is_inside boolean;
  circle json;
BEGIN
  PERFORM "{schema}".lock_queues_1($3, $4);
  PERFORM "{schema}".lock_families_1($1, $2);
  -- One that is to be cancelled does not wait for a turn.
  PERFORM "{schema}".lock_dequeue_1($1);
  FOR given IN
    SELECT i.id, i.name, i.lock_key, i.lock_position, i.lock_state, i.status, i.parent_id, i.starts_at,
      i.status <> 'running' AS undone
    FROM unnest($1, $2) AS w(id, epoch)
    JOIN "{schema}".instance i ON i.id = w.id AND i.epoch = w.epoch
    ORDER BY i.lock_position
  LOOP
    CONTINUE WHEN given.status IN ('completed', 'compensated', 'aborted');
    IF given.lock_state IN ('arriving', 'waiting') THEN
      is_inside := given.parent_id IS NOT NULL AND EXISTS (SELECT FROM "{schema}".family_locks_1(given.parent_id) f
        WHERE f.holder_name = given.name AND f.holder_key = given.lock_key);
      IF given.starts_at IS NOT NULL OR NOT is_inside AND (EXISTS (SELECT FROM "{schema}".instance h
          WHERE h.name = given.name AND h.lock_key = given.lock_key AND h.lock_state = 'held')
        OR EXISTS (SELECT FROM "{schema}".instance l
          WHERE l.name = given.name AND l.lock_key = given.lock_key AND l.lock_position < given.lock_position AND l.lock_state IS NOT NULL
      AND (l.lock_state <> 'arriving' OR coalesce(l.starts_at <= clock_timestamp(), true)
        AND (l.locked_by IS NOT NULL OR l.due_at <= clock_timestamp()))))
      THEN
        circle := CASE WHEN given.starts_at IS NULL AND given.parent_id IS NOT NULL THEN "{schema}".break_circle_1(given.id) END;
        IF circle IS NULL THEN
          UPDATE "{schema}".instance i SET
            lock_state = CASE WHEN i.starts_at IS NULL THEN 'waiting' ELSE i.lock_state END, locked_by = NULL,
            due_at = i.starts_at, rank_at = i.starts_at - i.priority * interval '10000 milliseconds', takeovers = 0
          WHERE i.id = given.id;
          CONTINUE;
        END IF;
        UPDATE "{schema}".instance i SET lock_state = NULL, lock_deadlock = circle, takeovers = 0 WHERE i.id = given.id;
      ELSE
        UPDATE "{schema}".instance i SET
          lock_state = CASE WHEN is_inside THEN 'inside' ELSE 'held' END, takeovers = 0,
          deadline_at = now() + i.lock_timeout * interval '1 millisecond'
        WHERE i.id = given.id;
        IF given.undone AND NOT is_inside THEN PERFORM "{schema}".look_again_1(given.id); END IF;
      END IF;
    END IF;
    RETURN QUERY SELECT i.id, (extract(epoch FROM i.deadline_at) * 1000)::float8, i.lock_state IS NOT NULL, i.lock_deadlock,
      i.cancel_requested_at IS NOT NULL, i.cancel_reason
    FROM "{schema}".instance i WHERE i.id = given.id;
  END LOOP;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".checkpoint_locked_1(text[], text[], uuid[], int[], int[], text[], text[], json[], text[], text[], boolean[], boolean[], boolean[], boolean[], float8[], boolean[], boolean[], json[], uuid[], text[], text[], int[], int[], boolean[], int[], int[], float8[], json[], json[], float8[], json[], boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  IF cardinality($1) > 0 AND current_setting('transaction_isolation') <> 'read committed' THEN RETURN ARRAY[NULL]::uuid[]; END IF;
  PERFORM "{schema}".lock_queues_1($1, $2);
  saved := "{schema}".checkpoint_1($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32);
  PERFORM "{schema}".lock_dequeue_1(saved);
  RETURN saved;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".start_rejecting_1(text, float8, uuid[], text[], int[], text[], text[], json[], jsonb[], smallint[], boolean[], float8[], float8[], float8[], text[], int[], float8[], text[], boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  free bigint[];
BEGIN
  PERFORM "{schema}".lock_queues_1($4, $15);
  free := ARRAY(SELECT f.n FROM (
      SELECT w.n, w.name, w.key, row_number() OVER (PARTITION BY w.name, w.key ORDER BY w.lock_order) AS place
      FROM unnest($4, $15, $16) WITH ORDINALITY AS w(name, key, lock_order, n)) f
    WHERE f.place = 1 AND "{schema}".lock_holder_1(f.name, f.key) IS NULL);
  IF cardinality(free) = 0 THEN RETURN '{}'; END IF;
  RETURN "{schema}".start_1($1, $2,
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($3) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($4) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($5) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($6) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($7) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($8) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($9) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($10) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($11) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($12) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($13) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($14) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($15) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($16) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($17) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)),
    (SELECT array_agg(u.value ORDER BY u.n) FROM unnest($18) WITH ORDINALITY AS u(value, n) WHERE u.n = ANY(free)), $19);
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".wake_1(uuid) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  holder text;
BEGIN
  UPDATE "{schema}".instance i SET woken = true,
    due_at = CASE WHEN i.locked_by IS NULL AND i.status IN ('running', 'compensating') THEN now() ELSE i.due_at END,
    rank_at = CASE WHEN i.locked_by IS NULL AND i.status IN ('running', 'compensating') THEN now() - i.priority * interval '10000 milliseconds'
      ELSE i.rank_at END
  WHERE i.id = $1
  RETURNING i.locked_by INTO holder;
  IF FOUND THEN
    PERFORM pg_notify('{schema}_wakeup', CASE WHEN holder IS NULL THEN 'due' ELSE 'look:' || $1 END);
  END IF;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".checkpoint_family_1(text[], text[], uuid, text[], uuid[], text[], text[], text[], json[], jsonb[], uuid[], text[], int[], text[], text[], json[], jsonb[], smallint[], boolean[], float8[], float8[], float8[], text[], int[], float8[], text[], uuid[], int[], int[], text[], text[], json[], text[], text[], boolean[], boolean[], boolean[], boolean[], float8[], boolean[], boolean[], json[], uuid[], text[], text[], int[], int[], boolean[], int[], int[], float8[], json[], json[], float8[], json[], boolean)
RETURNS uuid[] LANGUAGE plpgsql AS $function$
DECLARE
  saved uuid[];
BEGIN
  IF cardinality($1) > 0 AND current_setting('transaction_isolation') <> 'read committed' THEN RETURN ARRAY[NULL]::uuid[]; END IF;
  PERFORM "{schema}".lock_queues_1($1, $2);
  IF $3 IS NOT NULL THEN
    PERFORM FROM "{schema}".instance i WHERE i.id = $3 OR i.id = ($27)[1] ORDER BY i.id FOR NO KEY UPDATE;
  END IF;
  saved := "{schema}".checkpoint_1($27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56);
  IF cardinality(saved) = 0 THEN RETURN saved; END IF;
  IF cardinality($1) > 0 THEN PERFORM "{schema}".lock_dequeue_1(saved); END IF;
  IF cardinality($5) > 0 THEN PERFORM "{schema}".publish_1($5, $6, $7, $8, $9, $10); END IF;
  IF $3 IS NOT NULL THEN PERFORM "{schema}".wake_1($3); END IF;
  IF cardinality($4) > 0 THEN
    PERFORM "{schema}".start_1('', 0, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, false);
    UPDATE "{schema}".instance i SET parent_id = saved[1], parent_step = c.step
    FROM unnest($11, $4) AS c(id, step) WHERE i.id = c.id;
    PERFORM pg_notify('{schema}_wakeup', 'due');
  END IF;
  RETURN saved;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".due_1(text[], int[], int, bigint, bigint, boolean, timestamptz,
  OUT ids uuid[], OUT heavy uuid[], OUT in_parts uuid, OUT last timestamptz) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  picked uuid[];
  candidate uuid;
  size bigint;
  small bigint := 0;
  large bigint := 0;
BEGIN
  heavy := '{}';
  picked := ARRAY(
    SELECT c.id FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
      SELECT i.id, i.rank_at FROM "{schema}".instance i
      WHERE i.name = d.name AND i.version = d.version AND i.rank_at >= $7 AND i.rank_at <= now() AND i.due_at <= now()
      ORDER BY i.rank_at LIMIT $3 FOR UPDATE SKIP LOCKED) c
    ORDER BY c.rank_at LIMIT $3);
  ids := picked;
  IF cardinality(picked) = 0 THEN RETURN; END IF;
  IF "{schema}".bytes_at_most_1(picked) <= least($4, $5) THEN
    SELECT i.rank_at INTO last FROM "{schema}".instance i WHERE i.id = picked[cardinality(picked)];
    RETURN;
  END IF;
  ids := '{}';
  FOREACH candidate IN ARRAY picked LOOP
    size := "{schema}".bytes_1(candidate, greatest(32769,
      CASE WHEN cardinality(heavy) > 0 THEN 0 WHEN large = 0 THEN greatest($4, $5) + 1 ELSE least($4, $5) - large + 1 END));
    IF size <= 32768 THEN
      small := small + size;
      EXIT WHEN small > $4;
      ids := ids || candidate;
    ELSIF cardinality(heavy) = 0 AND (large + size <= least($4, $5) OR (large = 0 AND (size <= $5 OR $6))) THEN
      large := large + size;
      ids := ids || candidate;
      IF size > $4 THEN in_parts := candidate; END IF;
    ELSE
      heavy := heavy || candidate;
    END IF;
  END LOOP;
  IF cardinality(heavy) > 0 AND cardinality(picked) >= $3 AND small <= $4 THEN
    FOR candidate IN
      SELECT c.id FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
        SELECT i.id, i.rank_at FROM "{schema}".instance i
        WHERE i.name = d.name AND i.version = d.version AND i.rank_at >= $7 AND i.rank_at <= now() AND i.due_at <= now() ORDER BY i.rank_at LIMIT $3 + 1000) c
      WHERE c.id <> ALL(picked) ORDER BY c.rank_at
    LOOP
      EXIT WHEN cardinality(ids) >= $3;
      size := "{schema}".bytes_1(candidate, 32769);
      CONTINUE WHEN size > 32768;
      small := small + size;
      EXIT WHEN small > $4;
      PERFORM FROM "{schema}".instance i WHERE i.id = candidate AND i.rank_at <= now() AND i.due_at <= now()
        FOR UPDATE SKIP LOCKED;
      IF FOUND THEN ids := ids || candidate; END IF;
    END LOOP;
  END IF;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".upcoming_1(text[], int[], int, timestamptz)
RETURNS TABLE (id uuid, due_at timestamptz) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  RETURN QUERY SELECT n.id, n.due_at FROM unnest($1, $2) AS d(name, version) CROSS JOIN LATERAL (
    SELECT i.id, i.due_at FROM "{schema}".instance i
    WHERE i.name = d.name AND i.version = d.version AND i.rank_at >= $4
    ORDER BY i.rank_at LIMIT $3) n;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".catch_up_1(text[], int[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  UPDATE "{schema}".instance u SET due_at = now(), rank_at = now() - u.priority * interval '10000 milliseconds'
  WHERE u.id = ANY(ARRAY(
    SELECT i.id FROM unnest($1, $2) AS d(name, version)
    JOIN "{schema}".instance i ON i.name = d.name AND i.version = d.version AND i.rank_at IS NOT NULL
    WHERE i.due_at > now() AND i.locked_by IS NULL AND (i.woken OR i.due_at <= i.updated_at)
    ORDER BY i.id FOR NO KEY UPDATE OF i));
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".claim_1(text[], int[], int, text, float8, bigint, bigint, boolean, float8)
RETURNS TABLE (now float8, next_due_at float8, heavy int, last float8, id uuid, parent_id uuid, version int, epoch int, checkpoints int, graph_revision smallint, priority smallint, takeovers smallint, losses smallint, name text, correlation_id text, status text, held_phase text, locked_by text, cancel_reason text, lock_key text, lock_state text, parent_step text, pause_requested boolean, overdue boolean, failure json, progress json, lock_deadlock json, tags jsonb, lost_leases jsonb, due_at float8, leased_at float8, deadline_at float8, sla_at float8, starts_at float8, created_at float8, updated_at float8, finished_at float8, input text, reports text, cancel_requested boolean, in_parts boolean, steps json, signals json) LANGUAGE plpgsql ROWS 10
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
#variable_conflict use_column
DECLARE
  place timestamptz := coalesce(to_timestamp($9 / 1000), '-infinity');
  due record;
  least_id uuid;
BEGIN
  SELECT * INTO due FROM "{schema}".due_1($1, $2, $3, $6, $7, $8, place);
  now := extract(epoch FROM now()) * 1000;
  next_due_at := (SELECT extract(epoch FROM min(n.due_at)) * 1000 FROM "{schema}".upcoming_1($1, $2, $3 + 50, place) n
    WHERE n.id NOT IN (SELECT unnest(due.ids || due.heavy)));
  heavy := cardinality(due.heavy);
  last := extract(epoch FROM due.last) * 1000;
  RETURN NEXT;
  IF cardinality(due.ids) = 0 THEN
    RETURN;
  END IF;
  least_id := (SELECT u.id FROM unnest(due.ids) u(id) ORDER BY u.id LIMIT 1);
  UPDATE "{schema}".instance i SET 
    epoch = i.epoch + 1,
    takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    locked_by = $4,
    leased_at = now(),
    lost_leases = CASE WHEN i.locked_by IS NULL THEN i.lost_leases ELSE
      CASE WHEN i.takeovers = 0 OR i.lost_leases IS NULL THEN '[]'::jsonb
        WHEN jsonb_array_length(i.lost_leases) >= 5 THEN i.lost_leases - 0
        ELSE i.lost_leases END
      || jsonb_build_array(jsonb_build_object('worker', i.locked_by, 'from', (extract(epoch FROM coalesce(i.leased_at, i.created_at)) * 1000)::float8,
        'until', (extract(epoch FROM i.due_at) * 1000)::float8, 'takenOver', (extract(epoch FROM now()) * 1000)::float8)) END,
    woken = false,
    starts_at = CASE WHEN i.starts_at > now() THEN i.starts_at END,
    due_at = now() + $5 * interval '1 millisecond',
    rank_at = now() + $5 * interval '1 millisecond'
  WHERE i.id = ANY(due.ids) AND i.id >= least_id;
  RETURN QUERY SELECT NULL::float8, NULL::float8, NULL::int, NULL::float8,
  i.id AS id,
  i.parent_id AS parent_id,
  i.version AS version,
  i.epoch AS epoch,
  i.checkpoints AS checkpoints,
  i.graph_revision AS graph_revision,
  i.priority AS priority,
  i.takeovers AS takeovers,
  i.losses AS losses,
  i.name AS name,
  i.correlation_id AS correlation_id,
  i.status AS status,
  i.held_phase AS held_phase,
  i.locked_by AS locked_by,
  i.cancel_reason AS cancel_reason,
  i.lock_key AS lock_key,
  i.lock_state AS lock_state,
  i.parent_step AS parent_step,
  i.pause_requested AS pause_requested,
  i.overdue AS overdue,
  i.failure AS failure,
  i.progress AS progress,
  i.lock_deadlock AS lock_deadlock,
  i.tags AS tags,
  i.lost_leases AS lost_leases,
  (extract(epoch FROM i.due_at) * 1000)::float8 AS due_at,
  (extract(epoch FROM i.leased_at) * 1000)::float8 AS leased_at,
  (extract(epoch FROM i.deadline_at) * 1000)::float8 AS deadline_at,
  (extract(epoch FROM i.sla_at) * 1000)::float8 AS sla_at,
  (extract(epoch FROM i.starts_at) * 1000)::float8 AS starts_at,
  (extract(epoch FROM i.created_at) * 1000)::float8 AS created_at,
  (extract(epoch FROM i.updated_at) * 1000)::float8 AS updated_at,
  (extract(epoch FROM i.finished_at) * 1000)::float8 AS finished_at,
  i.input::text AS input,
  i.reports::text AS reports,
  i.cancel_requested_at IS NOT NULL AS cancel_requested,
  coalesce(i.id = due.in_parts, false) AS in_parts,
  CASE WHEN i.id = due.in_parts THEN NULL ELSE (SELECT json_agg(json_build_object(
      'name', s.name, 'status', s.status, 'attempts', s.attempts, 'failures', s.failures, 'unknown', s."unknown",
      'compensationAttempts', s.compensation_attempts, 'compensationFailures', s.compensation_failures,
      'retryAt', (extract(epoch FROM s.retry_at) * 1000)::float8, 'result', s.result::text, 'errors', s.errors, 'progress', s.progress,
      'startedAt', (extract(epoch FROM s.started_at) * 1000)::float8,
      'updatedAt', (extract(epoch FROM s.updated_at) * 1000)::float8))
    FROM "{schema}".step s WHERE s.saga_id = i.id) END AS steps,
  CASE WHEN i.id = due.in_parts THEN NULL ELSE 
  CASE WHEN i.signals > 0 THEN (SELECT json_agg(json_build_object('number', g.number, 'name', g.name, 'messageId', g.message_id, 'payload', g.payload::text) ORDER BY g.number)
    FROM "{schema}".signal g
    WHERE g.saga_id = i.id AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0)) END END AS signals
  FROM unnest(due.ids) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT * FROM "{schema}".instance h WHERE h.id = w.id AND h.id >= least_id LIMIT 1) i
  ORDER BY w.place;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".slots_taken_1(text, text) RETURNS int LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  RETURN (SELECT count(*) FROM "{schema}".instance i
    WHERE i.id = ANY(ARRAY(SELECT unnest(c.holders) FROM "{schema}".concurrency c WHERE c.saga = $1))
      AND ($2 IS NULL OR i.limit_key = $2) AND i.locked_by IS NOT NULL AND i.due_at > clock_timestamp());
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".claim_limited_1(text[], int[], int[], text[], int[], int, text, float8)
RETURNS TABLE (taken uuid[], epochs int[], clock float8, next_due_at float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  -- Of each name that there is something to do for: its limit, its free places, and how many came free since.
  asked text[];
  limits int[];
  left_over int[] := '{}';
  came_free int[] := '{}';
  crowd boolean[] := '{}';
  -- Names that turn somebody away.
  full_names text[];
  fenced uuid[];
  kept uuid[];
  given uuid[];
  is_left boolean;
  slots record;
BEGIN
  SELECT coalesce(array_agg(l.name ORDER BY l.name) FILTER (WHERE l.ask), '{}'),
    coalesce(array_agg(l.slots ORDER BY l.name) FILTER (WHERE l.ask), '{}'),
    coalesce(array_agg(l.name) FILTER (WHERE l.crowded AND NOT l.ask), '{}')
  INTO asked, limits, full_names FROM (
    SELECT n.name, n.slots, c.crowded, CASE
        WHEN c.crowded THEN "{schema}".slots_taken_1(n.name, NULL) < n.slots
        ELSE EXISTS (SELECT FROM (SELECT n.name, v.version FROM unnest(n.versions) AS v(version)) w
          CROSS JOIN LATERAL (SELECT FROM "{schema}".instance i WHERE i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment LIMIT 1) d)
      END AS ask
    FROM (SELECT w.name, min(w.slots) AS slots, array_agg(w.version) AS versions
      FROM unnest($1, $2, $3) AS w(name, version, slots) GROUP BY w.name) n
    LEFT JOIN "{schema}".concurrency c ON c.saga = n.name) l;
  taken := '{}';
  epochs := '{}';

  IF cardinality(asked) > 0 THEN
    INSERT INTO "{schema}".concurrency (saga) SELECT unnest(asked) ON CONFLICT DO NOTHING;
    PERFORM FROM "{schema}".concurrency c WHERE c.saga = ANY(asked) ORDER BY c.saga FOR NO KEY UPDATE;
    moment := clock_timestamp();

    WITH lapsed AS (
      UPDATE "{schema}".instance i SET epoch = i.epoch + 1
      WHERE i.id = ANY(ARRAY(
        SELECT h.id FROM "{schema}".instance h
        WHERE h.id = ANY(ARRAY(SELECT unnest(c.holders) FROM "{schema}".concurrency c WHERE c.saga = ANY(asked)))
          AND h.locked_by IS NOT NULL AND h.due_at <= moment
        FOR NO KEY UPDATE SKIP LOCKED))
      RETURNING i.id
    )
    SELECT coalesce(array_agg(l.id), '{}') INTO fenced FROM lapsed l;

    FOR n IN 1..cardinality(asked) LOOP
      SELECT c.holders, c.crowded INTO slots FROM "{schema}".concurrency c WHERE c.saga = asked[n];
      kept := ARRAY(SELECT i.id FROM "{schema}".instance i
        WHERE i.id = ANY(slots.holders) AND i.locked_by IS NOT NULL AND i.due_at IS NOT NULL AND i.id <> ALL(fenced));
      left_over := left_over || greatest(0, limits[n] - cardinality(kept));
      came_free := came_free || cardinality(slots.holders) - cardinality(kept);
      crowd := crowd || slots.crowded;
      IF came_free[n] > 0 THEN
        UPDATE "{schema}".concurrency c SET holders = kept WHERE c.saga = asked[n];
      END IF;
    END LOOP;

    WITH candidates AS (
      SELECT m.id, m.epoch, m.rank_at, true AS limited FROM (
        SELECT d.*, o.free, row_number() OVER (PARTITION BY w.name ORDER BY d.rank_at) AS place
        FROM unnest(asked, left_over) AS o(name, free)
        JOIN unnest($1, $2) AS w(name, version) ON w.name = o.name
        CROSS JOIN LATERAL (
          SELECT i.id, i.epoch, i.rank_at FROM "{schema}".instance i WHERE i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment
          ORDER BY i.rank_at LIMIT least(o.free, $6) FOR UPDATE SKIP LOCKED) d) m
      WHERE m.place <= m.free
      UNION ALL
      SELECT p.id, p.epoch, p.rank_at, false FROM unnest($4, $5) AS w(name, version)
      CROSS JOIN LATERAL (
        SELECT i.id, i.epoch, i.rank_at FROM "{schema}".instance i WHERE i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment ORDER BY i.rank_at LIMIT $6) p
    ), due AS (
      SELECT * FROM candidates ORDER BY rank_at LIMIT $6
    ), leased AS (
      UPDATE "{schema}".instance i SET 
    epoch = i.epoch + 1,
    takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    locked_by = $7,
    leased_at = moment,
    lost_leases = CASE WHEN i.locked_by IS NULL THEN i.lost_leases ELSE
      CASE WHEN i.takeovers = 0 OR i.lost_leases IS NULL THEN '[]'::jsonb
        WHEN jsonb_array_length(i.lost_leases) >= 5 THEN i.lost_leases - 0
        ELSE i.lost_leases END
      || jsonb_build_array(jsonb_build_object('worker', i.locked_by, 'from', (extract(epoch FROM coalesce(i.leased_at, i.created_at)) * 1000)::float8,
        'until', (extract(epoch FROM i.due_at) * 1000)::float8, 'takenOver', (extract(epoch FROM moment) * 1000)::float8)) END,
    woken = false,
    starts_at = CASE WHEN i.starts_at > moment THEN i.starts_at END,
    due_at = moment + $8 * interval '1 millisecond',
    rank_at = moment + $8 * interval '1 millisecond'
      WHERE i.id = ANY(ARRAY(SELECT id FROM due WHERE limited))
    )
    SELECT coalesce(array_agg(due.id ORDER BY due.rank_at), '{}'), coalesce(array_agg(due.epoch + 1 ORDER BY due.rank_at), '{}')
    INTO taken, epochs FROM due WHERE due.limited;

    FOR n IN 1..cardinality(asked) LOOP
      given := ARRAY(SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(taken) AND i.name = asked[n]);
      is_left := left_over[n] > cardinality(given);
      IF NOT is_left AND EXISTS (SELECT FROM unnest($1, $2) AS w(name, version)
          CROSS JOIN LATERAL (SELECT FROM "{schema}".instance i WHERE i.name = w.name AND i.version = w.version AND i.rank_at <= moment AND i.due_at <= moment LIMIT 1) d WHERE w.name = asked[n]) THEN
        full_names := full_names || asked[n];
        crowd[n] := true;
      ELSIF is_left AND crowd[n] AND came_free[n] > 0 THEN
        crowd[n] := false;
        PERFORM pg_notify('{schema}_wakeup', 'due');
      END IF;
      UPDATE "{schema}".concurrency c SET holders = c.holders || given, crowded = crowd[n]
      WHERE c.saga = asked[n] AND (c.crowded <> crowd[n] OR cardinality(given) > 0);
    END LOOP;
  END IF;

  clock := extract(epoch FROM moment) * 1000;
  next_due_at := extract(epoch FROM least(
    (SELECT min(a.due_at) FROM unnest($1, $2) AS w(name, version) CROSS JOIN LATERAL (
        SELECT i.id, i.due_at FROM "{schema}".instance i
        WHERE i.name = w.name AND i.version = w.version AND i.rank_at IS NOT NULL
        ORDER BY i.rank_at LIMIT $6 + 50) a
      WHERE a.id <> ALL(taken) AND (a.due_at > moment OR w.name <> ALL(full_names))),
    (SELECT min(i.due_at) FROM "{schema}".instance i
      WHERE i.locked_by IS NOT NULL AND i.id = ANY(ARRAY(
        SELECT unnest(c.holders) FROM "{schema}".concurrency c WHERE c.saga = ANY(full_names)))))) * 1000;
  RETURN NEXT;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".claim_keyed_1(text[], int[], int[], text[], int[], int, text, float8)
RETURNS TABLE (taken uuid[], epochs int[], clock float8, next_due_at float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  moment timestamptz := clock_timestamp();
  -- Of each name that there is something to do for.
  limited record;
  slots record;
  fenced uuid[];
  kept uuid[];
  came_free text[];
  held_keys text[];
  held_counts int[];
  due_keys text[];
  due_count int;
  keys text[];
  full_keys text[];
  per_key int;
  -- What may be taken, in turns; the ranks of the same sagas in their order; and their names and keys.
  ids uuid[] := '{}';
  ranks timestamptz[] := '{}';
  names text[] := '{}';
  turns text[] := '{}';
  own_ids uuid[];
  own_ranks timestamptz[];
  own_turns text[];
  -- What is known of the names so far, for the end.
  looked record;
  looked_at jsonb := '[]';
  given uuid[];
  is_full boolean;
  is_crowded boolean;
  is_announced boolean := false;
  next_key text;
  next timestamptz;
BEGIN
  taken := '{}';
  epochs := '{}';
  FOR limited IN
    SELECT w.name, min(w.slots) AS slots, array_agg(w.version) AS versions
    FROM unnest($1, $2, $3) AS w(name, version, slots) GROUP BY w.name ORDER BY w.name
  LOOP
    SELECT c.crowded INTO is_crowded FROM "{schema}".concurrency c WHERE c.saga = limited.name;
    CONTINUE WHEN is_crowded IS NOT TRUE AND NOT EXISTS (SELECT FROM unnest(limited.versions) AS v(version)
      CROSS JOIN LATERAL (SELECT FROM "{schema}".instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment LIMIT 1) d);
    INSERT INTO "{schema}".concurrency (saga) VALUES (limited.name) ON CONFLICT DO NOTHING;
    SELECT c.holders, c.crowded, coalesce(c.last_key, '') AS last_key INTO slots
    FROM "{schema}".concurrency c WHERE c.saga = limited.name FOR NO KEY UPDATE;
    moment := clock_timestamp();
    WITH lapsed AS (
      UPDATE "{schema}".instance i SET epoch = i.epoch + 1
      WHERE i.id = ANY(ARRAY(
        SELECT h.id FROM "{schema}".instance h
        WHERE h.id = ANY(slots.holders) AND h.locked_by IS NOT NULL AND h.due_at <= moment
        FOR NO KEY UPDATE SKIP LOCKED))
      RETURNING i.id
    )
    SELECT coalesce(array_agg(l.id), '{}') INTO fenced FROM lapsed l;
    SELECT coalesce(array_agg(h.id) FILTER (WHERE h.stays), '{}'),
      coalesce(array_agg(DISTINCT h.key) FILTER (WHERE NOT h.stays), '{}')
    INTO kept, came_free FROM (
      SELECT i.id, coalesce(i.limit_key, '') AS key,
        i.locked_by IS NOT NULL AND i.due_at IS NOT NULL AND i.id <> ALL(fenced) AS stays
      FROM "{schema}".instance i WHERE i.id = ANY(slots.holders)) h;
    SELECT coalesce(array_agg(h.key), '{}'), coalesce(array_agg(h.taken), '{}') INTO held_keys, held_counts FROM (
      SELECT coalesce(i.limit_key, '') AS key, count(*)::int AS taken
      FROM "{schema}".instance i WHERE i.id = ANY(kept) GROUP BY 1) h;
    full_keys := ARRAY(SELECT h.key FROM unnest(held_keys, held_counts) AS h(key, taken) WHERE h.taken >= limited.slots);

    SELECT coalesce(array_agg(DISTINCT d.key), '{}'), count(*) INTO due_keys, due_count FROM unnest(limited.versions) AS v(version)
    CROSS JOIN LATERAL (
      SELECT coalesce(i.limit_key, '') AS key FROM "{schema}".instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment ORDER BY i.rank_at LIMIT 500) d;
    keys := ARRAY(SELECT k.key FROM unnest(due_keys) AS k(key) WHERE k.key <> ALL(full_keys)
      ORDER BY k.key <= slots.last_key, k.key);
    next_key := NULL;
    IF due_count >= 500 THEN
      SELECT coalesce(array_agg(r.key ORDER BY r.lap, r.key) FILTER (WHERE r.key <> ALL(full_keys) AND r.is_due), '{}'),
        CASE WHEN count(*) >= 1000 THEN (array_agg(r.key ORDER BY r.lap DESC, r.key DESC))[1] END
      INTO keys, next_key FROM (
        WITH RECURSIVE ring(lap, key) AS (
          SELECT 0, slots.last_key
          UNION ALL
          SELECT CASE WHEN n.key IS NULL THEN r.lap + 1 ELSE r.lap END, coalesce(n.key, '')
          FROM ring r CROSS JOIN LATERAL (SELECT (
            SELECT k.limit_key FROM unnest(limited.versions) AS v(version) CROSS JOIN LATERAL (
              SELECT i.limit_key FROM "{schema}".instance i
              WHERE i.name = limited.name AND i.version = v.version AND i.limit_key > r.key AND i.rank_at IS NOT NULL
              ORDER BY i.limit_key LIMIT 1) k
            ORDER BY k.limit_key LIMIT 1) AS key) n
          WHERE r.lap < 2 AND (r.lap = 0 OR coalesce(n.key, '') <= slots.last_key)
        )
        SELECT r.lap, r.key, EXISTS (SELECT FROM unnest(limited.versions) AS v(version)
          CROSS JOIN LATERAL (SELECT FROM "{schema}".instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment AND i.limit_key = r.key LIMIT 1) d) AS is_due
        FROM (SELECT DISTINCT ON (l.lap, l.key) l.lap, l.key FROM (SELECT * FROM ring WHERE key <> '' LIMIT 1000) l
          WHERE l.lap > 0 OR l.key > slots.last_key) r) r;
      IF '' = ANY(due_keys) AND '' <> ALL(full_keys) THEN keys := keys || ''::text; END IF;
    END IF;

    per_key := ceil(greatest(2000, 4 * $6)::float8 / greatest(1, cardinality(keys)));
    SELECT coalesce(array_agg(c.id ORDER BY c.turn), '{}'), coalesce(array_agg(c.rank_at ORDER BY c.rank_at), '{}'),
      coalesce(array_agg(c.key ORDER BY c.turn), '{}')
    INTO own_ids, own_ranks, own_turns FROM (
      SELECT m.*, row_number() OVER (ORDER BY m.place, m.turn_of_key) AS turn FROM (
        SELECT d.id, d.rank_at, k.key, k.turn_of_key,
          k.held + row_number() OVER (PARTITION BY k.key ORDER BY d.rank_at) AS place
        FROM (SELECT w.key, w.turn_of_key, coalesce(held_counts[array_position(held_keys, w.key)], 0) AS held
          FROM unnest(keys) WITH ORDINALITY AS w(key, turn_of_key)) k
        CROSS JOIN unnest(limited.versions) AS v(version)
        CROSS JOIN LATERAL (
          (SELECT i.id, i.rank_at FROM "{schema}".instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment AND i.limit_key = k.key
            ORDER BY i.rank_at LIMIT least(limited.slots - k.held, per_key))
          UNION ALL
          (SELECT n.id, n.rank_at FROM (
              SELECT i.id, i.rank_at, i.limit_key FROM "{schema}".instance i WHERE i.name = limited.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment AND k.key = ''
              ORDER BY i.rank_at LIMIT 500) n
            WHERE n.limit_key IS NULL ORDER BY n.rank_at LIMIT least(limited.slots - k.held, per_key))) d) m
      WHERE m.place <= limited.slots ORDER BY m.place, m.turn_of_key LIMIT $6) c;
    ids := ids || own_ids;
    ranks := ranks || own_ranks;
    turns := turns || own_turns;
    names := names || array_fill(limited.name, ARRAY[cardinality(own_ids)]);
    looked_at := looked_at || jsonb_build_object('name', limited.name, 'slots', limited.slots, 'versions', to_jsonb(limited.versions),
      'kept', to_jsonb(kept), 'changed', cardinality(kept) < cardinality(slots.holders), 'came_free', to_jsonb(came_free),
      'crowded', slots.crowded, 'last_key', slots.last_key, 'next_key', next_key, 'held_keys', to_jsonb(held_keys),
      'held_counts', to_jsonb(held_counts));
  END LOOP;

  WITH due AS (
    SELECT a.id FROM (
      SELECT c.id, c.rank_at, true AS limited FROM unnest(ids, ranks) AS c(id, rank_at)
      UNION ALL
      SELECT p.id, p.rank_at, false FROM unnest($4, $5) AS v(name, version) CROSS JOIN LATERAL (
        SELECT i.id, i.rank_at FROM "{schema}".instance i
        WHERE i.name = v.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment AND cardinality(ids) > 0
        ORDER BY i.rank_at LIMIT $6) p
      ORDER BY rank_at LIMIT $6) a
    WHERE a.limited
  ), free AS MATERIALIZED (
    SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(ARRAY(SELECT id FROM due)) AND i.rank_at <= moment AND i.due_at <= moment
    FOR UPDATE SKIP LOCKED
  ), leased AS (
    UPDATE "{schema}".instance i SET 
    epoch = i.epoch + 1,
    takeovers = least(i.takeovers + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    losses = least(i.losses + CASE WHEN i.locked_by IS NULL THEN 0 ELSE 1 END, 32000),
    locked_by = $7,
    leased_at = moment,
    lost_leases = CASE WHEN i.locked_by IS NULL THEN i.lost_leases ELSE
      CASE WHEN i.takeovers = 0 OR i.lost_leases IS NULL THEN '[]'::jsonb
        WHEN jsonb_array_length(i.lost_leases) >= 5 THEN i.lost_leases - 0
        ELSE i.lost_leases END
      || jsonb_build_array(jsonb_build_object('worker', i.locked_by, 'from', (extract(epoch FROM coalesce(i.leased_at, i.created_at)) * 1000)::float8,
        'until', (extract(epoch FROM i.due_at) * 1000)::float8, 'takenOver', (extract(epoch FROM moment) * 1000)::float8)) END,
    woken = false,
    starts_at = CASE WHEN i.starts_at > moment THEN i.starts_at END,
    due_at = moment + $8 * interval '1 millisecond',
    rank_at = moment + $8 * interval '1 millisecond'
    WHERE i.id = ANY(ARRAY(SELECT id FROM free))
    RETURNING i.id, i.epoch
  )
  SELECT coalesce(array_agg(l.id ORDER BY array_position(ids, l.id)), '{}'),
    coalesce(array_agg(l.epoch ORDER BY array_position(ids, l.id)), '{}')
  INTO taken, epochs FROM leased l;

  next := NULL;
  FOR looked IN
    SELECT l.name, l.slots, l.versions, l.kept, l.changed, l.came_free, l.crowded, l.last_key, l.next_key, l.held_keys, l.held_counts
    FROM jsonb_to_recordset(looked_at) AS l(name text, slots int, versions int[], kept uuid[], changed boolean, came_free text[],
      crowded boolean, last_key text, next_key text, held_keys text[], held_counts int[])
  LOOP
    given := ARRAY(SELECT c.id FROM unnest(ids, names) AS c(id, name) WHERE c.name = looked.name AND c.id = ANY(taken));
    -- Those that were left have found no slot here, or no room.
    is_full := EXISTS (SELECT FROM unnest(looked.versions) AS v(version)
      CROSS JOIN LATERAL (SELECT FROM "{schema}".instance i WHERE i.name = looked.name AND i.version = v.version AND i.rank_at <= moment AND i.due_at <= moment LIMIT 1) d);
    is_crowded := looked.crowded;
    IF looked.crowded AND EXISTS (SELECT FROM unnest(looked.came_free) AS f(key)
        WHERE coalesce(looked.held_counts[array_position(looked.held_keys, f.key)], 0) + (
          SELECT count(*) FROM unnest(ids, turns) AS c(id, key) WHERE c.key = f.key AND c.id = ANY(given)) < looked.slots) THEN
      is_crowded := false;
      is_announced := true;
    ELSIF is_full THEN
      is_crowded := true;
    END IF;
    next_key := coalesce((SELECT c.key FROM unnest(ids, turns) WITH ORDINALITY AS c(id, key, n)
      WHERE c.id = ANY(given) ORDER BY c.n DESC LIMIT 1), looked.next_key, looked.last_key);
    UPDATE "{schema}".concurrency c SET holders = looked.kept || given, crowded = is_crowded, last_key = next_key
    WHERE c.saga = looked.name
      AND (looked.changed OR cardinality(given) > 0 OR c.crowded <> is_crowded OR next_key <> looked.last_key);
    next := least(next,
      CASE WHEN is_full AND looked.next_key IS NOT NULL THEN moment + 200 * interval '1 millisecond' END,
      CASE WHEN is_full AND (cardinality(taken) >= $6
        OR cardinality(given) < (SELECT count(*) FROM unnest(names) AS n(name) WHERE n.name = looked.name)) THEN moment END,
      CASE WHEN is_full THEN (SELECT min(i.due_at) FROM "{schema}".instance i
        WHERE i.id = ANY(looked.kept || given) AND i.locked_by IS NOT NULL) END);
  END LOOP;
  IF is_announced THEN PERFORM pg_notify('{schema}_wakeup', 'due'); END IF;

  clock := extract(epoch FROM moment) * 1000;
  next_due_at := extract(epoch FROM least(next, (
    SELECT min(a.due_at) FROM unnest($1, $2) AS w(name, version) CROSS JOIN LATERAL (
      (SELECT i.id, i.due_at FROM "{schema}".instance i
        WHERE i.name = w.name AND i.version = w.version AND i.rank_at IS NOT NULL
        ORDER BY i.rank_at LIMIT 50)
      UNION ALL
      (SELECT i.id, i.due_at FROM "{schema}".instance i
        WHERE i.name = w.name AND i.version = w.version AND i.rank_at > moment
        ORDER BY i.rank_at LIMIT $6 + 50)) a
    WHERE a.due_at > moment AND a.id <> ALL(taken)))) * 1000;
  RETURN NEXT;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".steps_of(uuid)
RETURNS TABLE (name text, status text, attempts int, failures int, "unknown" boolean, compensation_attempts int,
  compensation_failures int, retry_at timestamptz, result json, errors json, started_at timestamptz,
  updated_at timestamptz) LANGUAGE sql STABLE AS $function$
  SELECT s.name,
    CASE n.form WHEN 'number' THEN 'compensated' ELSE coalesce(n.note->>'status', s.status) END,
    coalesce((CASE n.form WHEN 'array' THEN n.note->>1 ELSE n.note->>'attempts' END)::int, s.attempts),
    coalesce((CASE n.form WHEN 'array' THEN n.note->>2 ELSE n.note->>'failures' END)::int, s.failures),
    coalesce((n.note->>'unknown')::boolean, s."unknown"),
    CASE n.form WHEN 'number' THEN 1
      ELSE coalesce((n.note->>'compensationAttempts')::int, s.compensation_attempts) END,
    coalesce((n.note->>'compensationFailures')::int, s.compensation_failures),
    CASE WHEN n.form = 'array' THEN to_timestamp((n.note->>3)::float8 / 1000)
      WHEN n.note->'retryAt' IS NOT NULL THEN to_timestamp((n.note->>'retryAt')::float8 / 1000)
      ELSE s.retry_at END,
    s.result,
    CASE WHEN n.repeats IS NULL THEN s.errors ELSE (s.errors::jsonb || n.repeats::jsonb)::json END,
    s.started_at,
    CASE WHEN n.note IS NULL THEN s.updated_at
      ELSE i.created_at + (CASE n.form WHEN 'number' THEN n.note #>> '{}' WHEN 'array' THEN n.note->>0
        ELSE n.note->>'at' END)::float8 * interval '1 millisecond' END
  FROM "{schema}".instance i
  JOIN "{schema}".step s ON s.saga_id = i.id
  CROSS JOIN LATERAL (SELECT i.progress->'notes'->s.name AS note) AS of_step
  CROSS JOIN LATERAL (
    SELECT of_step.note, json_typeof(of_step.note) AS form,
      CASE json_typeof(of_step.note) WHEN 'array' THEN of_step.note->4 ELSE of_step.note->'repeats' END AS repeats) AS n
  WHERE i.id = $1
  ORDER BY s.started_at, s.name
$function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".tasks_1(uuid[], int[], int[], uuid[], text[], float8[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  saved uuid[];
BEGIN
  SELECT array_agg(l.id) INTO saved FROM (
    SELECT i.id FROM unnest($1, $2, $3) AS w(id, epoch, number)
    JOIN "{schema}".instance i ON i.id = w.id AND i.epoch = w.epoch AND i.checkpoints = w.number
    ORDER BY i.id FOR NO KEY UPDATE OF i) l;
  IF saved IS NULL THEN
    RETURN;
  END IF;
  DELETE FROM "{schema}".task t WHERE t.saga_id = ANY(saved) AND NOT EXISTS (
    SELECT FROM unnest($4, $5, $6) AS w(saga_id, step, since)
    WHERE w.saga_id = t.saga_id AND w.step = t.step AND to_timestamp(w.since / 1000) = t.since);
  INSERT INTO "{schema}".task (saga_id, step, saga, since)
  SELECT i.id, w.step, i.name, to_timestamp(w.since / 1000)
  FROM unnest($4, $5, $6) AS w(saga_id, step, since) JOIN "{schema}".instance i ON i.id = w.saga_id
  WHERE i.id = ANY(saved) AND NOT EXISTS (SELECT FROM "{schema}".signal g
    WHERE g.saga_id = i.id AND g.name = 'approval:' || w.step AND g.number > coalesce((i.progress -> 'lastTakenSignals' ->> g.name)::int, 0))
  ON CONFLICT (saga_id, step) DO NOTHING;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".lock_slots_1(text, text, text) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
BEGIN
  LOOP
    PERFORM FROM "{schema}".step_limit s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO "{schema}".step_limit (saga, step, key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;
  END LOOP;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".settle_slots_1(text, text, text) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  lost record;
BEGIN
  FOR lost IN
    SELECT s.saga_id, s.step_key, EXISTS (SELECT FROM "{schema}".instance i WHERE i.id = s.saga_id AND i.status = 'running' AND i.locked_by IS NULL
      AND EXISTS (SELECT FROM "{schema}".step t WHERE t.saga_id = i.id AND t.name = s.step_key AND t.status = 'waiting'
        AND (t.progress -> 'slot') IS NOT NULL)) AS rests
    FROM "{schema}".step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state = 'taken'
      AND NOT EXISTS (SELECT FROM "{schema}".instance i WHERE i.id = s.saga_id AND i.epoch = s.epoch AND i.locked_by IS NOT NULL)
  LOOP
    IF lost.rests THEN
      UPDATE "{schema}".step_slot s SET state = 'waiting' WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = lost.saga_id AND s.step_key = lost.step_key;
    ELSE
      DELETE FROM "{schema}".step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = lost.saga_id AND s.step_key = lost.step_key;
    END IF;
  END LOOP;
  UPDATE "{schema}".step_slot s SET state = 'late'
  WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state = 'called' AND (s.called_at BETWEEN clock_timestamp() - interval '10000 milliseconds' AND clock_timestamp()) IS NOT TRUE;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".promote_slots_1(text, text, text, int[], int[], uuid, text[],
  OUT called uuid[], OUT since timestamptz[]) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  used int;
  waiter record;
  passed bigint := -1;
  is_late boolean := false;
  slots int;
BEGIN
  called := '{}';
  since := '{}';
  SELECT count(*) INTO used FROM "{schema}".step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state <> 'late';
  FOR n IN 1..100 LOOP
    IF NOT is_late THEN
      SELECT s.saga_id, s.step_key, s.number, s.since, i.version,
        coalesce(s.saga_id = $6 AND s.step_key = ANY($7), false) AS is_own,
        coalesce((i.status = 'running' AND i.locked_by IS NOT NULL) OR (i.status = 'running' AND i.locked_by IS NULL
      AND EXISTS (SELECT FROM "{schema}".step t WHERE t.saga_id = i.id AND t.name = s.step_key AND t.status = 'waiting'
        AND (t.progress -> 'slot') IS NOT NULL)), false) AS waits
      INTO waiter FROM "{schema}".step_slot s LEFT JOIN "{schema}".instance i ON i.id = s.saga_id
      WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state = 'waiting' AND s.number > passed ORDER BY s.number LIMIT 1;
      IF NOT FOUND THEN
        is_late := true;
        passed := -1;
      END IF;
    END IF;
    IF is_late THEN
      SELECT s.saga_id, s.step_key, s.number, s.since, i.version,
        coalesce(s.saga_id = $6 AND s.step_key = ANY($7), false) AS is_own,
        coalesce((i.status = 'running' AND i.locked_by IS NOT NULL) OR (i.status = 'running' AND i.locked_by IS NULL
      AND EXISTS (SELECT FROM "{schema}".step t WHERE t.saga_id = i.id AND t.name = s.step_key AND t.status = 'waiting'
        AND (t.progress -> 'slot') IS NOT NULL)), false) AS waits
      INTO waiter FROM "{schema}".step_slot s LEFT JOIN "{schema}".instance i ON i.id = s.saga_id
      WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state = 'late' AND s.number > passed ORDER BY s.number LIMIT 1;
      EXIT WHEN NOT FOUND;
    END IF;
    passed := waiter.number;
    slots := CASE WHEN $4 IS NULL THEN $5[1] ELSE $5[array_position($4, waiter.version)] END;
    CONTINUE WHEN slots IS NULL AND waiter.version IS NOT NULL;
    -- Of versions with another count, some may still find one.
    EXIT WHEN used >= slots AND $4 IS NULL;
    CONTINUE WHEN used >= slots;
    IF waiter.is_own THEN
      UPDATE "{schema}".step_slot s SET state = 'taken'
      WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
      used := used + 1;
    ELSIF waiter.waits THEN
      UPDATE "{schema}".step_slot s SET state = 'called', called_at = clock_timestamp()
      WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
      called := called || waiter.saga_id;
      since := since || waiter.since;
      used := used + 1;
    ELSE
      DELETE FROM "{schema}".step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = waiter.saga_id AND s.step_key = waiter.step_key;
    END IF;
  END LOOP;
  -- A slot that is kept for one that was called goes to one before it that asks.
  FOR waiter IN
    SELECT s.step_key, s.number FROM "{schema}".step_slot s
    WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = $6 AND s.step_key = ANY($7) AND s.state = 'waiting' ORDER BY s.number
  LOOP
    UPDATE "{schema}".step_slot s SET state = 'waiting'
    WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.state <> 'waiting' AND s.state = 'called' AND s.number > waiter.number AND s.number = (
      SELECT max(o.number) FROM "{schema}".step_slot o
      WHERE o.saga = $1 AND o.step = $2 AND o.key = $3 AND o.state <> 'waiting' AND o.state = 'called');
    EXIT WHEN NOT FOUND;
    UPDATE "{schema}".step_slot s SET state = 'taken' WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = $6 AND s.step_key = waiter.step_key;
  END LOOP;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".call_all_1(uuid[], timestamptz[]) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  saga record;
BEGIN
  FOR saga IN SELECT w.id, min(w.since) AS since FROM unnest($1, $2) AS w(id, since) GROUP BY w.id ORDER BY w.id LOOP
    PERFORM "{schema}".wake_1(saga.id);
    UPDATE "{schema}".instance i SET rank_at = i.rank_at - greatest(now() - saga.since, interval '0')
    WHERE i.id = saga.id AND i.locked_by IS NULL AND i.rank_at IS NOT NULL;
  END LOOP;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".fence_slots_1(text[]) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  lapsed uuid[];
BEGIN
  lapsed := ARRAY(SELECT i.id FROM "{schema}".instance i WHERE i.id = ANY(ARRAY(
      SELECT s.saga_id FROM "{schema}".step_slot s WHERE s.saga = ANY($1) AND s.state <> 'waiting'))
    AND i.locked_by IS NOT NULL AND i.due_at <= clock_timestamp()
    AND EXISTS (SELECT FROM "{schema}".step_slot s WHERE s.saga = i.name AND s.saga_id = i.id AND s.epoch = i.epoch AND s.state = 'taken')
    ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED);
  UPDATE "{schema}".instance i SET epoch = i.epoch + 1 WHERE i.id = ANY(lapsed);
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".take_slots_1(text, text, text, int, uuid, int, int, text[]) RETURNS text[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  others record;
BEGIN
  PERFORM "{schema}".lock_slots_1($1, $2, $3);
  PERFORM FROM "{schema}".instance i WHERE i.id = $5 AND i.epoch = $6 AND i.locked_by IS NOT NULL AND i.due_at > clock_timestamp();
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM "{schema}".settle_slots_1($1, $2, $3);
  INSERT INTO "{schema}".step_slot AS s (saga, step, key, saga_id, step_key, epoch, turn, state)
  SELECT $1, $2, $3, $5, w.step, $6, $7, 'waiting' FROM unnest($8) WITH ORDINALITY AS w(step, place) ORDER BY w.place
  ON CONFLICT (saga, step, key, saga_id, step_key) DO UPDATE SET epoch = excluded.epoch,
    turn = CASE WHEN s.epoch = excluded.epoch THEN greatest(s.turn, excluded.turn) ELSE excluded.turn END,
    state = CASE WHEN s.state = 'taken' THEN s.state ELSE 'waiting' END;
  others := "{schema}".promote_slots_1($1, $2, $3, NULL, ARRAY[$4], $5, $8);
  PERFORM "{schema}".call_all_1(others.called, others.since);
  RETURN ARRAY(SELECT s.step_key FROM "{schema}".step_slot s
    WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.state = 'taken');
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".free_slots_1(text, text, text, int, uuid, int, int, text[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  others record;
BEGIN
  PERFORM "{schema}".lock_slots_1($1, $2, $3);
  DELETE FROM "{schema}".step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3 AND s.saga_id = $5 AND s.step_key = ANY($8) AND s.epoch = $6 AND s.turn <= $7;
  PERFORM "{schema}".settle_slots_1($1, $2, $3);
  others := "{schema}".promote_slots_1($1, $2, $3, NULL, ARRAY[$4], NULL, NULL);
  PERFORM "{schema}".call_all_1(others.called, others.since);
  -- The row of a key that is not in use. That of a limit without a key stays.
  IF $3 <> '' AND NOT EXISTS (SELECT FROM "{schema}".step_slot s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3) THEN
    DELETE FROM "{schema}".step_limit s WHERE s.saga = $1 AND s.step = $2 AND s.key = $3;
  END IF;
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".sweep_slots_1(text[], int[], text[], int[], text[], int[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $function$
DECLARE
  swept record;
  others record;
  called uuid[] := '{}';
  since timestamptz[] := '{}';
BEGIN
  FOR swept IN
    SELECT s.saga, s.step, s.key FROM "{schema}".step_limit s
    WHERE s.saga = ANY($1) AND (s.checked_at BETWEEN clock_timestamp() - interval '4000 milliseconds' AND clock_timestamp()) IS NOT TRUE
    ORDER BY s.checked_at LIMIT 500 FOR UPDATE SKIP LOCKED
  LOOP
    PERFORM "{schema}".settle_slots_1(swept.saga, swept.step, swept.key);
    SELECT p.called, p.since INTO others FROM (
      SELECT array_agg(v.version) AS versions, array_agg(coalesce((SELECT w.count FROM unnest($3, $4, $5, $6) AS w(saga, version, step, count)
        WHERE w.saga = v.saga AND w.version = v.version AND w.step = swept.step LIMIT 1), 2147483647)) AS counts
      FROM unnest($1, $2) AS v(saga, version) WHERE v.saga = swept.saga) l
    CROSS JOIN LATERAL "{schema}".promote_slots_1(swept.saga, swept.step, swept.key, l.versions, l.counts, NULL, NULL) p;
    called := called || others.called;
    since := since || others.since;
    IF EXISTS (SELECT FROM "{schema}".step_slot s WHERE s.saga = swept.saga AND s.step = swept.step AND s.key = swept.key) THEN
      UPDATE "{schema}".step_limit s SET checked_at = clock_timestamp()
      WHERE s.saga = swept.saga AND s.step = swept.step AND s.key = swept.key;
    ELSE
      DELETE FROM "{schema}".step_limit s WHERE s.saga = swept.saga AND s.step = swept.step AND s.key = swept.key;
    END IF;
  END LOOP;
  PERFORM "{schema}".call_all_1(called, since);
END $function$`,
    `
CREATE OR REPLACE FUNCTION "{schema}".shard_closed_1() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the shard is closed' USING ERRCODE = '57P03';
END $function$`,
  ],
  down: [
    `DROP FUNCTION IF EXISTS "{schema}".steps_of`,
    `DROP FUNCTION IF EXISTS "{schema}".checkpoint_publish_1`,
    `DROP FUNCTION IF EXISTS "{schema}".checkpoint_family_1`,
    `DROP FUNCTION IF EXISTS "{schema}".wake_1`,
    `DROP FUNCTION IF EXISTS "{schema}".signal_1`,
    `DROP FUNCTION IF EXISTS "{schema}".start_1`,
    `DROP FUNCTION IF EXISTS "{schema}".start_one_1`,
    `DROP FUNCTION IF EXISTS "{schema}".checkpoint_1`,
    `DROP FUNCTION IF EXISTS "{schema}".checkpoint_one_1`,
    `DROP FUNCTION IF EXISTS "{schema}".checkpoint_locked_1`,
    `DROP FUNCTION IF EXISTS "{schema}".lock_enqueue_1`,
    `DROP FUNCTION IF EXISTS "{schema}".lock_dequeue_1`,
    `DROP FUNCTION IF EXISTS "{schema}".lock_hand_over_1`,
    `DROP FUNCTION IF EXISTS "{schema}".lock_queues_1`,
    `DROP FUNCTION IF EXISTS "{schema}".lock_holder_1`,
    `DROP FUNCTION IF EXISTS "{schema}".start_rejecting_1`,
    `DROP FUNCTION IF EXISTS "{schema}".family_locks_1`,
    `DROP FUNCTION IF EXISTS "{schema}".look_again_1`,
    `DROP FUNCTION IF EXISTS "{schema}".lock_families_1`,
    `DROP FUNCTION IF EXISTS "{schema}".break_circle_1`,
    `DROP FUNCTION IF EXISTS "{schema}".reserve_1`,
    `DROP FUNCTION IF EXISTS "{schema}".claim_limited_1`,
    `DROP FUNCTION IF EXISTS "{schema}".claim_keyed_1`,
    `DROP FUNCTION IF EXISTS "{schema}".claim_1`,
    `DROP FUNCTION IF EXISTS "{schema}".due_1`,
    `DROP FUNCTION IF EXISTS "{schema}".catch_up_1`,
    `DROP FUNCTION IF EXISTS "{schema}".upcoming_1`,
    `DROP FUNCTION IF EXISTS "{schema}".page_1`,
    `DROP FUNCTION IF EXISTS "{schema}".bytes_1`,
    `DROP FUNCTION IF EXISTS "{schema}".bytes_at_most_1`,
    `DROP FUNCTION IF EXISTS "{schema}".step_part_1`,
    `DROP FUNCTION IF EXISTS "{schema}".signal_part_1`,
    `DROP FUNCTION IF EXISTS "{schema}".slots_taken_1`,
    `DROP FUNCTION IF EXISTS "{schema}".cleanup_1`,
    `DROP FUNCTION IF EXISTS "{schema}".fence_lost_1`,
    `DROP FUNCTION IF EXISTS "{schema}".tasks_1`,
    `DROP FUNCTION IF EXISTS "{schema}".set_tags_1`,
    `DROP FUNCTION IF EXISTS "{schema}".rest_while_paused_1`,
    `DROP FUNCTION IF EXISTS "{schema}".lock_slots_1`,
    `DROP FUNCTION IF EXISTS "{schema}".settle_slots_1`,
    `DROP FUNCTION IF EXISTS "{schema}".promote_slots_1`,
    `DROP FUNCTION IF EXISTS "{schema}".call_all_1`,
    `DROP FUNCTION IF EXISTS "{schema}".fence_slots_1`,
    `DROP FUNCTION IF EXISTS "{schema}".take_slots_1`,
    `DROP FUNCTION IF EXISTS "{schema}".free_slots_1`,
    `DROP FUNCTION IF EXISTS "{schema}".sweep_slots_1`,
    `DROP FUNCTION IF EXISTS "{schema}".shard_closed_1`,
    `DROP TABLE IF EXISTS "{schema}".step_pause`,
    `DROP TABLE IF EXISTS "{schema}".shard`,
    `DROP TABLE IF EXISTS "{schema}".schedule`,
    `DROP TABLE IF EXISTS "{schema}".graph`,
    `DROP TABLE IF EXISTS "{schema}".rate_time`,
    `DROP TABLE IF EXISTS "{schema}".rate_limit`,
    `DROP TABLE IF EXISTS "{schema}".step_slot`,
    `DROP TABLE IF EXISTS "{schema}".step_limit`,
    `DROP TABLE IF EXISTS "{schema}".concurrency`,
    `DROP TABLE IF EXISTS "{schema}".deleted`,
    `DROP TABLE IF EXISTS "{schema}".task`,
    `DROP TABLE IF EXISTS "{schema}".operation`,
    `DROP TABLE IF EXISTS "{schema}".signal`,
    `DROP TABLE IF EXISTS "{schema}".step`,
    `DROP TABLE IF EXISTS "{schema}".instance`,
    `DROP SEQUENCE IF EXISTS "{schema}".lock_position`,
  ],
};
