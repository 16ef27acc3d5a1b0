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
import { wakeupChannel } from '../connection/schema-name.js';

/**
 * The statements that create the first tables and functions. Idempotent, so that this module and users' own runs may apply
 * them alike.
 * @param name the schema's name, unquoted
 */
export const createSagaTables = (name: string): string[] => {
  const schema = `"${name}"`;
  const channel = wakeupChannel(name);
  return [
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
  ];
};
