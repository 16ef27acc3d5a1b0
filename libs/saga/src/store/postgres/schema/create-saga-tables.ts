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
    'claim_1',
    'due_1',
    'catch_up_1',
    'upcoming_1',
    'page_1',
    'bytes_1',
    'bytes_at_most_1',
    'step_part_1',
    'signal_part_1',
    'slots_taken_1',
    'cleanup_1',
    'fence_lost_1',
    'tasks_1',
    'set_tags_1',
    'rest_while_paused_1',
    'lock_slots_1',
    'settle_slots_1',
    'promote_slots_1',
    'call_all_1',
    'fence_slots_1',
    'take_slots_1',
    'free_slots_1',
    'sweep_slots_1',
    'shard_closed_1',
  ],
];

/** In the order in which they are created. */
export const SAGA_TABLES: readonly string[] = [
  'instance',
  'step',
  'signal',
  'operation',
  'task',
  'deleted',
  'concurrency',
  'step_limit',
  'step_slot',
  'rate_limit',
  'rate_time',
  'graph',
  'schedule',
  'shard',
  'step_pause',
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
