import type { MigrationInterface, QueryRunner } from 'typeorm';
import { bytesFunctions } from './functions/bytes.function.js';
import { checkpointFunction, checkpointOneFunction } from './functions/checkpoint.function.js';
import { checkpointPublishFunction } from './functions/checkpoint-publish.function.js';
import { claimLimitedFunctions } from './functions/claim-limited.function.js';
import { fenceLostFunction } from './functions/fence-lost.function.js';
import { cleanupFunction } from './functions/cleanup.function.js';
import { dueFunctions } from './functions/due.function.js';
import { reserveFunction } from './functions/reserve.function.js';
import { startOneFunction, startFunction } from './functions/start.function.js';
import { familyFunctions } from './functions/family.function.js';
import { familyLockFunctions } from './functions/family-locks.function.js';
import { signalFunction } from './functions/signal.function.js';
import { lockLineFunctions } from './functions/lock-queue.function.js';
import { wakeupChannel } from '../connection/wakeup-channel.js';

/** All functions of sagas, those that only others call included: a role has to be allowed each. */
export const SAGA_FUNCTIONS = [
  ...['checkpoint_publish_1', 'checkpoint_family_1', 'wake_1', 'signal_1'],
  ...['start_1', 'start_one_1', 'checkpoint_1', 'checkpoint_one_1'],
  ...[
    'checkpoint_locked_1',
    'lock_enqueue_1',
    'lock_dequeue_1',
    'lock_hand_over_1',
    'lock_line_1',
    'lock_holder_1',
    'family_locks_1',
    'look_again_1',
    'lock_families_1',
    'break_circle_1',
    'reserve_1',
    'claim_limited_1',
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

/** The first tables. Idempotent, so that it may be applied by this module and by users' own runs alike. */
export abstract class CreateSagaTables implements MigrationInterface {
  protected abstract readonly schema: string;

  async up(queryRunner: QueryRunner): Promise<void> {
    const schema = `"${this.schema}"`;
    await queryRunner.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    // `json` rather than jsonb for payloads: it keeps text and key order exactly, and costs less to write.
    // Fillfactor leaves updates room on their own page (HOT), so that they touch no index: a batch writes all rows of a page at
    // once, so half of it. At 70 fewer than half of them were HOT, and what went to other pages made the table larger, not smaller.
    await queryRunner.query(`
      CREATE TABLE IF NOT EXISTS ${schema}.instance (
        id uuid PRIMARY KEY,
        name text NOT NULL,
        version int NOT NULL,
        graph_revision smallint,
        correlation_id text,
        status text NOT NULL,
        step text NOT NULL,
        error text,
        input json,
        started_input json,
        tags jsonb,
        priority smallint NOT NULL DEFAULT 0,
        failure json,
        held_phase text,
        progress json,
        deadline_at timestamptz,
        epoch int NOT NULL,
        checkpoints int NOT NULL DEFAULT 0,
        locked_by text,
        leased_at timestamptz,
        lost_leases jsonb,
        due_at timestamptz,
        rank_at timestamptz,
        takeovers smallint NOT NULL DEFAULT 0,
        losses smallint NOT NULL DEFAULT 0,
        cancel_requested_at timestamptz,
        cancel_reason text,
        pause_requested boolean NOT NULL DEFAULT false,
        input_replaced boolean NOT NULL DEFAULT false,
        sla_at timestamptz,
        overdue boolean NOT NULL DEFAULT false,
        watched boolean NOT NULL DEFAULT false,
        lock_key text,
        lock_state text,
        lock_position bigint,
        lock_timeout float8,
        lock_deadlock json,
        parent_id uuid,
        parent_step text,
        woken boolean NOT NULL DEFAULT false,
        signals int NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz
      ) WITH (fillfactor = 50)`);
    await queryRunner.query(`
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
      )`);
    // What sagas were sent from outside. Those that were taken stay, so that one that is sent again is known.
    await queryRunner.query(`
      CREATE TABLE IF NOT EXISTS ${schema}.signal (
        saga_id uuid NOT NULL,
        number int NOT NULL,
        name text NOT NULL,
        message_id text NOT NULL,
        payload json,
        sent_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga_id, number)
      )`);
    await queryRunner.query(`
      CREATE UNIQUE INDEX IF NOT EXISTS signal_message ON ${schema}.signal (saga_id, message_id)`);
    // What operators did to sagas, or proposed to each other: a row for each call, written with the change itself.
    await queryRunner.query(`
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
      )`);
    // A row for each graph that was deployed. The first revision's row also has how far its instances have been
    // upgraded, and when a process continues with that. A null graph_revision of an instance means the newest of its
    // version.
    await queryRunner.query(`
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
      )`);
    // A row for each step with a rate limit: the times that were last given out.
    await queryRunner.query(`
      CREATE TABLE IF NOT EXISTS ${schema}.rate_limit (
        saga text NOT NULL,
        step text NOT NULL,
        times float8[] NOT NULL,
        PRIMARY KEY (saga, step)
      ) WITH (fillfactor = 50)`);
    // A row for each saga with a concurrency: who was given a place.
    await queryRunner.query(`
      CREATE TABLE IF NOT EXISTS ${schema}.concurrency (
        saga text PRIMARY KEY,
        holders uuid[] NOT NULL DEFAULT '{}',
        crowded boolean NOT NULL DEFAULT false
      ) WITH (fillfactor = 50)`);
    // Unfinished work only: finished sagas have no rank_at, and cost the claim nothing.
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_due ON ${schema}.instance (name, version, rank_at)
        WHERE rank_at IS NOT NULL`);
    // The rest of the unfinished sagas: they wait. The index costs others nothing: a row that a plain saga writes is
    // either due or finished, and when finished_at changes, so does rank_at, which is indexed anyway. The status is for
    // queries that count them.
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_at_rest ON ${schema}.instance (name, version, id) INCLUDE (status)
        WHERE rank_at IS NULL AND finished_at IS NULL`);
    await queryRunner.query(`
      CREATE UNIQUE INDEX IF NOT EXISTS instance_correlation ON ${schema}.instance (correlation_id, name)
        WHERE correlation_id IS NOT NULL`);
    // Sagas with a semantic lock only: the line of each key, and the promise that one of it is active.
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_lock_line ON ${schema}.instance (name, lock_key, lock_position)
        WHERE lock_state IS NOT NULL`);
    await queryRunner.query(`
      CREATE UNIQUE INDEX IF NOT EXISTS instance_lock_held ON ${schema}.instance (name, lock_key)
        WHERE lock_state = 'held'`);
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_lock_inside ON ${schema}.instance (name, lock_key, lock_position)
        WHERE lock_state = 'inside'`);
    await queryRunner.query(`CREATE SEQUENCE IF NOT EXISTS ${schema}.lock_position`);
    // Sagas with an sla only: those that will be overdue, by when, and those that are.
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_sla ON ${schema}.instance (sla_at)
        WHERE sla_at IS NOT NULL AND NOT overdue AND finished_at IS NULL`);
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_overdue ON ${schema}.instance (id)
        WHERE overdue AND finished_at IS NULL`);
    // What an operator looks for first; few rows at any time.
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_needs_person ON ${schema}.instance (status, id)
        WHERE status IN ('stuck', 'suspended', 'paused')`);
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_tags ON ${schema}.instance USING gin (tags) WHERE tags IS NOT NULL`);
    // Who goes with a saga that is deleted. Costs sub-sagas and remote calls only.
    await queryRunner.query(`
      CREATE INDEX IF NOT EXISTS instance_parent ON ${schema}.instance (parent_id) WHERE parent_id IS NOT NULL`);
    await queryRunner.query(startFunction(schema));
    await queryRunner.query(startOneFunction(schema));
    await queryRunner.query(checkpointFunction(schema, wakeupChannel(this.schema)));
    await queryRunner.query(checkpointOneFunction(schema, wakeupChannel(this.schema)));
    await queryRunner.query(checkpointPublishFunction(schema));
    await queryRunner.query(fenceLostFunction(schema, wakeupChannel(this.schema)));
    await queryRunner.query(reserveFunction(schema));
    await queryRunner.query(cleanupFunction(schema));
    await queryRunner.query(signalFunction(schema, wakeupChannel(this.schema)));
    for (const functions of [
      bytesFunctions,
      familyLockFunctions,
      lockLineFunctions,
      familyFunctions,
      dueFunctions,
      claimLimitedFunctions,
    ])
      for (const create of functions(schema, wakeupChannel(this.schema))) await queryRunner.query(create);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const name of SAGA_FUNCTIONS)
      await queryRunner.query(`DROP FUNCTION IF EXISTS "${this.schema}".${name}`);
    await queryRunner.query(`DROP TABLE IF EXISTS "${this.schema}".graph`);
    await queryRunner.query(`DROP TABLE IF EXISTS "${this.schema}".rate_limit`);
    await queryRunner.query(`DROP TABLE IF EXISTS "${this.schema}".concurrency`);
    await queryRunner.query(`DROP TABLE IF EXISTS "${this.schema}".operation`);
    await queryRunner.query(`DROP TABLE IF EXISTS "${this.schema}".signal`);
    await queryRunner.query(`DROP TABLE IF EXISTS "${this.schema}".step`);
    await queryRunner.query(`DROP TABLE IF EXISTS "${this.schema}".instance`);
    await queryRunner.query(`DROP SEQUENCE IF EXISTS "${this.schema}".lock_position`);
  }
}
