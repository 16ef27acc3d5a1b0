import { bytesFunctions } from './functions/bytes.function.js';
import { checkpointFunction, checkpointOneFunction } from './functions/checkpoint.function.js';
import { checkpointPublishFunction } from './functions/checkpoint-publish.function.js';
import { claimFunction } from './functions/claim.function.js';
import { claimLimitedFunctions } from './functions/claim-limited.function.js';
import { claimKeyedFunction } from './functions/claim-keyed.function.js';
import { fenceLostFunction } from './functions/fence-lost.function.js';
import { restWhilePausedFunction } from './functions/rest-while-paused.function.js';
import { setTagsFunction } from './functions/set-tags.function.js';
import { cleanupFunction } from './functions/cleanup.function.js';
import { dueFunctions } from './functions/due.function.js';
import { reserveFunction } from './functions/reserve.function.js';
import { startOneFunction, startFunction } from './functions/start.function.js';
import { startRejectingFunction } from './functions/start-rejecting.function.js';
import { familyFunctions } from './functions/family.function.js';
import { familyLockFunctions } from './functions/family-locks.function.js';
import { shardClosedFunction } from './functions/shard-closed.function.js';
import { signalFunction } from './functions/signal.function.js';
import { stepSlotFunctions } from './functions/step-slots.function.js';
import { tasksFunction } from './functions/tasks.function.js';
import { stepsOfFunction } from './functions/steps-of.function.js';
import { lockQueueFunctions } from './functions/lock-queue.function.js';
import { graphTable } from './tables/graph.table.js';
import { instanceIndexes, instanceTable } from './tables/instance.table.js';
import { limitTables } from './tables/limits.table.js';
import { partTables } from './tables/parts-of-sagas.table.js';
import { scheduleAndPauseTables } from './tables/schedules-and-pauses.table.js';
import { shardTables } from './tables/shards.table.js';
import { SAGA_TABLES } from './tables/table-facts.js';
import { wakeupChannel } from '../connection/wakeup-channel.js';
import type { MigrationSql } from './migration-sql.js';

/** All functions of sagas, those that only others call included: a role has to be allowed each. */
export const SAGA_FUNCTIONS = [
  ...['checkpoint_publish', 'checkpoint_family', 'wake', 'signal'],
  ...['start', 'start_one', 'checkpoint', 'checkpoint_one'],
  ...[
    'checkpoint_locked',
    'lock_enqueue',
    'lock_dequeue',
    'lock_hand_over',
    'lock_queues',
    'lock_holder',
    'start_rejecting',
    'family_locks',
    'look_again',
    'lock_families',
    'break_circle',
    'reserve',
    'claim_limited',
    'claim_keyed',
    'claim',
    'due',
    'catch_up',
    'upcoming',
    'page',
    'bytes',
    'bytes_at_most',
    'step_part',
    'signal_part',
    'slots_taken',
    'cleanup',
    'fence_lost',
    'tasks',
    'set_tags',
    'rest_while_paused',
    'lock_slots',
    'settle_slots',
    'promote_slots',
    'call_all',
    'fence_slots',
    'take_slots',
    'free_slots',
    'sweep_slots',
    'shard_closed',
  ],
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
      ...instanceTable(schema),
      ...partTables(schema),
      ...graphTable(schema),
      ...limitTables(schema),
      ...scheduleAndPauseTables(schema),
      ...shardTables(schema),
      ...instanceIndexes(schema),
      startFunction(schema),
      startOneFunction(schema),
      checkpointFunction(schema, channel),
      checkpointOneFunction(schema, channel),
      checkpointPublishFunction(schema),
      fenceLostFunction(schema, channel),
      setTagsFunction(schema),
      restWhilePausedFunction(schema, channel),
      reserveFunction(schema),
      cleanupFunction(schema),
      signalFunction(schema, channel),
      ...bytesFunctions(schema),
      ...familyLockFunctions(schema, channel),
      ...lockQueueFunctions(schema, channel),
      startRejectingFunction(schema),
      ...familyFunctions(schema, channel),
      ...dueFunctions(schema),
      claimFunction(schema),
      ...claimLimitedFunctions(schema, channel),
      claimKeyedFunction(schema, channel),
      stepsOfFunction(schema),
      tasksFunction(schema),
      ...stepSlotFunctions(schema),
      shardClosedFunction(schema),
    ],
    down: [
      `DROP FUNCTION IF EXISTS ${schema}.steps_of`,
      ...SAGA_FUNCTIONS.map((one) => `DROP FUNCTION IF EXISTS ${schema}.${one}`),
      ...[...SAGA_TABLES].reverse().map((one) => `DROP TABLE IF EXISTS ${schema}.${one}`),
      `DROP SEQUENCE IF EXISTS ${schema}.lock_position`,
    ],
  };
};
