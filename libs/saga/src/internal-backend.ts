/**
 * What another engine is made of: the ports that it implements, and the rules of a store in memory, by which it may change a saga.
 * For packages of this library in the same version. Not for applications: names here change without notice.
 */
export type { SagaGraph } from './definition/graph/saga-graph.js';
export type { Checkpoint, CheckpointResult, StoredMessage } from './engine/ports/checkpoint.js';
export type { CleanedBatch, CleanupBatch, CleanupStore } from './engine/ports/cleanup-store.js';
export type { EngineLog } from './engine/ports/engine-log.js';
export type * from './engine/ports/graph-store.js';
export { SMALL_SAGA, sizeOfSaga } from './engine/ports/payload-size.js';
export type { SagaRevision } from './engine/ports/put-back.js';
export type { SagaBackend } from './engine/ports/saga-backend.js';
export type * from './engine/ports/saga-store.js';
export type { StepOfSaga, StepPauseStore, StoredStepPause, WhoAndWhy } from './engine/ports/step-pause.js';
export type { SlotHolder, SlotLimit, StepSlotStore, SweptSaga } from './engine/ports/step-slots.js';
export type {
  HeldLease,
  Lease,
  LockDeadlock,
  NewSaga,
  SentSignal,
  StoredSaga,
  StoredSignal,
} from './engine/ports/stored-saga.js';
export {
  type ChangeSchedule,
  type ScheduleEdit,
  type ScheduleEdited,
  type StoredSchedule,
  withStarted,
  withStatus,
} from './engine/ports/stored-schedule.js';
export type { StoredTask, StoreTaskFilter } from './engine/ports/stored-task.js';
export type { Wakeup, WakeupMessage } from './engine/ports/wakeup.js';
export { SagaConfigurationError, SagaUnavailableError } from './errors.js';
export { INITIAL, isInProgress, isTerminal, stepState } from './machine/saga-state.js';
export type * from './nest/external-engine.js';
export { transientWait } from './shared/transient-wait.js';
export { sizeOf } from './store/memory/memory-claims.js';
export { MemoryCleanup } from './store/memory/memory-cleanup.js';
export { type MemoryGraphs, MemoryGraphStore } from './store/memory/memory-graph-store.js';
export { isLinked, MemoryFamilies } from './store/memory/memory-families.js';
export { MemoryLockQueues, queueKey } from './store/memory/memory-lock-queues.js';
export { type Given, MemoryRates } from './store/memory/memory-rates.js';
export {
  hasLock,
  type LockedRow,
  type MemoryRow,
  rank,
  type RowLock,
  toExisting,
  waitsUntil,
} from './store/memory/memory-row.js';
export { MemorySagaStore } from './store/memory/memory-saga-store.js';
export { limitKey, MemoryStepSlots, type Place } from './store/memory/memory-step-slots.js';
export { MemoryWakeupHub } from './store/memory/memory-wakeup.js';
export { requireStorable, UnstorableError } from './store/memory/stored-copy.js';
export { StepTransactions } from './store/postgres/checkpoint/step-transactions.js';
export type { EngineSql } from './store/postgres/connection/engine-sql.js';
export { wakeupChannel } from './store/postgres/connection/schema-name.js';
export type { Sql } from './store/postgres/connection/sql.js';
export { sendWithin } from './store/postgres/connection/transaction-watch.js';
export {
  isOutage as isDatabaseOutage,
  isTransientError as isDatabaseTransient,
  refusesData as databaseRefuses,
} from './store/postgres/connection/transient-errors.js';
export { DEFAULT_SCHEMA } from './store/postgres/schema/saga-entities.js';
export { migrationOf } from './store/postgres/schema/saga-migrations.js';
export { createdParts, instancesOf, type Needs } from './store/postgres/setup/needs.js';
