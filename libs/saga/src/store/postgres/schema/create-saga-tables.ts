import { bytesFunctions } from './functions/bytes.function.js';
import { checkpointFunction, checkpointOneFunction } from './functions/checkpoint.function.js';
import { checkpointPublishFunction } from './functions/checkpoint-publish.function.js';
import { claimLimitedFunctions } from './functions/claim-limited.function.js';
import { claimKeyedFunction } from './functions/claim-keyed.function.js';
import { fenceLostFunction } from './functions/fence-lost.function.js';
import { cleanupFunction } from './functions/cleanup.function.js';
import { dueFunctions } from './functions/due.function.js';
import { reserveFunction } from './functions/reserve.function.js';
import { startOneFunction, startFunction } from './functions/start.function.js';
import { startRejectingFunction } from './functions/start-rejecting.function.js';
import { familyFunctions } from './functions/family.function.js';
import { familyLockFunctions } from './functions/family-locks.function.js';
import { signalFunction } from './functions/signal.function.js';
import { stepsOfFunction } from './functions/steps-of.function.js';
import { lockQueueFunctions } from './functions/lock-queue.function.js';
import { wakeupChannel } from '../connection/wakeup-channel.js';
import type { MigrationSql } from './frozen/migration-sql.js';

/** All functions of sagas, those that only others call included: a role has to be allowed each. */
export const SAGA_FUNCTIONS = [
  ...['checkpoint_publish_1', 'checkpoint_family_1', 'wake_1', 'signal_1'],
  ...['start_1', 'start_one_1', 'checkpoint_1', 'checkpoint_one_1'],
  ...[
    'checkpoint_locked_1',
    'lock_enqueue_1',
    'lock_dequeue_1',
    'lock_hand_over_1',
    'lock_queues_1',
    'lock_holder_1',
    'start_rejecting_1',
    'family_locks_1',
    'look_again_1',
    'lock_families_1',
    'break_circle_1',
    'reserve_1',
    'claim_limited_1',
    'claim_keyed_1',
    'due_1',
    'upcoming_1',
    'page_1',
    'bytes_1',
    'bytes_at_most_1',
    'step_part_1',
    'signal_part_1',
    'slots_taken_1',
    'cleanup_1',
    'fence_lost_1',
  ],
];

const TABLES = [
  'shard',
  'schedule',
  'graph',
  'rate_limit',
  'concurrency',
  'operation',
  'signal',
  'step',
  'instance',
];

/**
 * The first tables. Idempotent, so that it may be applied by this module and by users' own runs alike.
 * @param name the schema's name, unquoted
 */
export const createSagaTables = (name: string): MigrationSql => {
  const schema = `"${name}"`;
  const channel = wakeupChannel(name);
  return {
    up: [
      `CREATE SCHEMA IF NOT EXISTS ${schema}`,
      // `json` rather than jsonb for payloads: it keeps text and key order exactly, and costs less to write.
      // Fillfactor leaves updates room on their own page (HOT), so that they touch no index: a batch writes all rows of a page at
      // once, so half of it. At 70 fewer than half of them were HOT, and what went to other pages made the table larger, not smaller.
      // The columns stand by how often they change, and what each checkpoint changes stands together at the end: the WAL of a HOT
      // update is what lies between the first byte that changes and the last one.
      `
      CREATE TABLE IF NOT EXISTS ${schema}.instance (
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
        failure json,
        error text,
        status text NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now(),
        checkpoints int NOT NULL DEFAULT 0,
        step text NOT NULL,
        progress json,
        finished_at timestamptz
      ) WITH (fillfactor = 50)`,
      `
      CREATE TABLE IF NOT EXISTS ${schema}.step (
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
      // What sagas were sent from outside. Those that were taken stay, so that one that is sent again is known.
      `
      CREATE TABLE IF NOT EXISTS ${schema}.signal (
        saga_id uuid NOT NULL,
        number int NOT NULL,
        name text NOT NULL,
        message_id text NOT NULL,
        payload json,
        sent_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga_id, number)
      )`,
      `
      CREATE UNIQUE INDEX IF NOT EXISTS signal_message ON ${schema}.signal (saga_id, message_id)`,
      // What operators did to sagas, or proposed to each other: a row for each call, written with the change itself.
      `
      CREATE TABLE IF NOT EXISTS ${schema}.operation (
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
      // A row for each graph that was deployed. The first revision's row also has how far its instances have been
      // upgraded, and when a process continues with that. A null graph_revision of an instance means the newest of its
      // version.
      `
      CREATE TABLE IF NOT EXISTS ${schema}.graph (
        name text NOT NULL,
        version int NOT NULL,
        revision smallint NOT NULL,
        graph json NOT NULL,
        stored_at timestamptz NOT NULL DEFAULT now(),
        upgrade text,
        upgrade_at timestamptz,
        upgrading boolean NOT NULL DEFAULT false,
        PRIMARY KEY (name, version, revision)
      )`,
      // A row for each step with a rate limit, or for each key of it: the times that were last given out. idle_at: from
      // when the row of a key says nothing, in ms.
      `
      CREATE TABLE IF NOT EXISTS ${schema}.rate_limit (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        times float8[] NOT NULL,
        idle_at float8,
        PRIMARY KEY (saga, step, key)
      ) WITH (fillfactor = 50)`,
      `
      CREATE INDEX IF NOT EXISTS rate_limit_idle ON ${schema}.rate_limit (saga, step, idle_at)
        WHERE idle_at IS NOT NULL`,
      // A row for each saga with a concurrency: who was given a place, and of which key the last one was, whose turn is over.
      `
      CREATE TABLE IF NOT EXISTS ${schema}.concurrency (
        saga text PRIMARY KEY,
        holders uuid[] NOT NULL DEFAULT '{}',
        crowded boolean NOT NULL DEFAULT false,
        last_key text
      ) WITH (fillfactor = 50)`,
      // A row for each saga with a schedule: up to when its ticks are decided, and what it started last.
      `
      CREATE TABLE IF NOT EXISTS ${schema}.schedule (
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
      // The row of this database as one of several shards. Empty in an application without shards.
      `
      CREATE TABLE IF NOT EXISTS ${schema}.shard (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        name text NOT NULL,
        number int NOT NULL,
        founders text[] NOT NULL,
        accepting boolean NOT NULL,
        changed_at timestamptz,
        changed_by text,
        change_reason text
      )`,
      // Unfinished work only: finished sagas have no rank_at, and cost the claim nothing.
      `
      CREATE INDEX IF NOT EXISTS instance_due ON ${schema}.instance (name, version, rank_at)
        WHERE rank_at IS NOT NULL`,
      // The rest of the unfinished sagas: they wait. The index costs others nothing: a row that a plain saga writes is
      // either due or finished, and when finished_at changes, so does rank_at, which is indexed anyway. The status is for
      // queries that count them. It is a copy: `status` changes while a worker holds the saga, and no update that changes a
      // column of an index is HOT.
      `
      CREATE INDEX IF NOT EXISTS instance_idle ON ${schema}.instance (name, version, id) INCLUDE (idle_status)
        WHERE rank_at IS NULL AND finished_at IS NULL`,
      `
      CREATE UNIQUE INDEX IF NOT EXISTS instance_correlation ON ${schema}.instance (correlation_id, name)
        WHERE correlation_id IS NOT NULL`,
      // Sagas with a semantic lock only: the line of each key, and the promise that one of it is active.
      `
      CREATE INDEX IF NOT EXISTS instance_lock_queue ON ${schema}.instance (name, lock_key, lock_position)
        WHERE lock_state IS NOT NULL`,
      `
      CREATE UNIQUE INDEX IF NOT EXISTS instance_lock_held ON ${schema}.instance (name, lock_key)
        WHERE lock_state = 'held'`,
      `
      CREATE INDEX IF NOT EXISTS instance_lock_inside ON ${schema}.instance (name, lock_key, lock_position)
        WHERE lock_state = 'inside'`,
      // Unfinished sagas with a concurrency for each key, by key. Costs others nothing.
      `
      CREATE INDEX IF NOT EXISTS instance_limit ON ${schema}.instance (name, version, limit_key, rank_at)
        WHERE limit_key IS NOT NULL AND rank_at IS NOT NULL`,
      `CREATE SEQUENCE IF NOT EXISTS ${schema}.lock_position`,
      // Sagas with an sla only: those that will be overdue, by when, and those that are.
      `
      CREATE INDEX IF NOT EXISTS instance_sla ON ${schema}.instance (sla_at)
        WHERE sla_at IS NOT NULL AND NOT overdue AND finished_at IS NULL`,
      `
      CREATE INDEX IF NOT EXISTS instance_overdue ON ${schema}.instance (id)
        WHERE overdue AND finished_at IS NULL`,
      // What an operator looks for first; few rows at any time.
      `
      CREATE INDEX IF NOT EXISTS instance_needs_attention ON ${schema}.instance (idle_status, id)
        WHERE idle_status IN ('stuck', 'suspended', 'paused')`,
      `
      CREATE INDEX IF NOT EXISTS instance_tags ON ${schema}.instance USING gin (tags) WHERE tags IS NOT NULL`,
      // Who goes with a saga that is deleted. Costs sub-sagas and remote calls only.
      `
      CREATE INDEX IF NOT EXISTS instance_parent ON ${schema}.instance (parent_id) WHERE parent_id IS NOT NULL`,
      startFunction(schema),
      startOneFunction(schema),
      checkpointFunction(schema, channel),
      checkpointOneFunction(schema, channel),
      checkpointPublishFunction(schema),
      fenceLostFunction(schema, channel),
      reserveFunction(schema),
      cleanupFunction(schema),
      signalFunction(schema, channel),
      ...bytesFunctions(schema),
      ...familyLockFunctions(schema, channel),
      ...lockQueueFunctions(schema, channel),
      startRejectingFunction(schema),
      ...familyFunctions(schema, channel),
      ...dueFunctions(schema),
      ...claimLimitedFunctions(schema, channel),
      claimKeyedFunction(schema, channel),
      stepsOfFunction(schema),
    ],
    down: [
      `DROP FUNCTION IF EXISTS ${schema}.steps_of`,
      ...SAGA_FUNCTIONS.map((one) => `DROP FUNCTION IF EXISTS ${schema}.${one}`),
      ...TABLES.map((one) => `DROP TABLE IF EXISTS ${schema}.${one}`),
      `DROP SEQUENCE IF EXISTS ${schema}.lock_position`,
    ],
  };
};
