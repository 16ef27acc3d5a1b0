/**
 * What runs sagas, for the other packages of this library in the same version. Not for applications: names here change
 * without notice.
 */
export { SAGA_ID } from './engine/attempt/step-messages.js';
export { handledHeaders, handling } from './engine/observe/handled-message.js';
export type { AttemptWatch, Instrument, MeasuredAttempt, StartWatch } from './engine/observe/instrument.js';
export type { ObservedSaga } from './engine/observe/observed-changes.js';
export { SagaObservers } from './engine/observe/saga-observers.js';
export {
  TRACEPARENT,
  partsOf,
  storedTraceOf,
  traceOfSaga,
  traceparentOf,
  type TraceParts,
} from './engine/observe/trace-context.js';
export { Trouble } from './engine/observe/trouble.js';
export { countsOf, driftOf } from './engine/versions/agree-on-graphs.js';
export { expectedMoves } from './engine/versions/upgrade-plan.js';
export { requireAmbient } from './nest/ambient.js';
export { applicationDatabase, joinOneOf, shardPlaces, type ShardPlace } from './nest/application-database.js';
export { engineServices, type ServiceParts } from './nest/assemble-engine.js';
export { checkAsyncOptions } from './nest/async-options.js';
export { readModuleOptions } from './nest/module-options.js';
export { CURSOR_RULE, key, pageSize } from './nest/calls/call-kinds.js';
export { UnawaitedSignalError } from './nest/calls/signals.js';
export { DATABASE_SOURCE_OPTIONS, readDatabase } from './nest/database-options.js';
export { hintsIn, postgresBackend } from './nest/database-runtime.js';
export { ENGINE_RULE, type EngineProcess, isOwnEngine, type OwnEngine } from './nest/external-engine.js';
export { SagaRegistry, type RegisteredSaga } from './nest/discovery/saga.registry.js';
export {
  ApplicationLifeCycle,
  LifeCycleModule,
  type LifeCyclePart,
} from './nest/life-cycle/application-life-cycle.js';
export { SagaPoller } from './nest/maintenance/saga.poller.js';
export { checkImportedOnce, requiredOptions } from './nest/required-options.js';
export type { Running } from './nest/running.js';
export { SagaLog } from './nest/saga-log.js';
export { MODULE_OPTIONS_TOKEN } from './nest/saga.module-definition.js';
export { leaseTime, pollTime, shutdownTime, withDefaults } from './nest/saga.options.js';
export { SagaRuntime } from './nest/saga.runtime.js';
export { connectShards, type NamedRow } from './nest/shards/register-shards.js';
export { SHARD_OPTIONS, readShardOptions, type ShardsRead } from './nest/shards/shard-options.js';
export { ShardHealth } from './shards/shard-health.js';
export { Coder } from './store/coded/coder.js';
export { CODEC_RULE, isCodec, payloadCodec } from './store/coded/payload-codec.js';
export { convertMessage, convertWhoAndWhy } from './store/coded/private-fields.js';
export { MemorySagaStore } from './store/memory/memory-saga-store.js';
export { MemoryWakeupHub } from './store/memory/memory-wakeup.js';
export type { OutboxStore } from './store/outbox-store.js';
export { EngineSql } from './store/postgres/connection/engine-sql.js';
export { homeOf } from './store/postgres/connection/home-database.js';
export { ListenWakeup } from './store/postgres/connection/listen-wakeup.js';
export { openPool } from './store/postgres/connection/open-pool.js';
export { PgDatabase } from './store/postgres/connection/pg-database.js';
export { schemaOfStep } from './store/postgres/connection/step-connections.js';
export { TransactionWatch, committed, sendWithin } from './store/postgres/connection/transaction-watch.js';
export { isOutage, isTransientError } from './store/postgres/connection/transient-errors.js';
export { NotedMeanwhile, PostgresInbox } from './store/postgres/outbox/postgres-inbox.js';
export {
  OUTBOX_PAGE_BYTES,
  PostgresOutbox,
  type FailedMessage,
  type PageLimits,
  type Settlement,
  type StoredDeadMessage,
  type TakenLanes,
  type TakenMessage,
} from './store/postgres/outbox/postgres-outbox.js';
export { PostgresGraphStore } from './store/postgres/postgres-graph-store.js';
export { PostgresSagaStore } from './store/postgres/postgres-saga-store.js';
export type { SagaRate, StepRate } from './store/postgres/read/postgres-rates.js';
export { migrate, migrationScript, missingParts, prepareTables } from './store/postgres/setup/migrate.js';
export { MESSAGING_NEEDS, SAGA_NEEDS, partitionedNeeds } from './store/postgres/setup/needs.js';
export {
  PostgresShardRow,
  shardsOfTransaction,
  type ShardCall,
  type ShardChange,
} from './store/postgres/shards/postgres-shard-row.js';
