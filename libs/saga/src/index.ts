export { Saga } from './definition/decorators/saga.decorator.js';
export type { Durability, SagaOptions } from './definition/options/saga-options.js';
export type { ScheduleOptions, ScheduleRule, ScheduleTick } from './definition/options/schedule-options.js';
export type { StartTimeOf, TimeOf } from './definition/options/time-of.js';
export type {
  StandardSchema,
  StandardSchemaIssue,
  StandardSchemaResult,
} from './definition/types/standard-schema.js';
export { Step } from './definition/decorators/step.decorator.js';
export { Approval } from './definition/decorators/approval.decorator.js';
export { SubSaga } from './definition/decorators/sub-saga.decorator.js';
export { RemoteStep } from './definition/decorators/remote-step.decorator.js';
export { StepHandler } from './definition/decorators/step-handler.decorator.js';
export { WaitFor } from './definition/decorators/wait-for.decorator.js';
export { OnSagaEvent } from './definition/decorators/on-saga-event.decorator.js';
export type { ObservedEvent, ObservedEventType } from './definition/types/observed-event.js';
export { analyzeSaga } from './definition/build/build-saga-graph.js';
export type { SagaFinding } from './shared/diagnostic.js';
export type { KeyOf, Limit, RateLimit } from './definition/options/limit-options.js';
export type {
  ApprovalDecision,
  ApprovalOptions,
  CompensationReply,
  ItemsOf,
  NodeOptions,
  Predicate,
  ProbeAnswer,
  RemoteStepOptions,
  SavepointOptions,
  StepHandlerOptions,
  StepOptions,
  SubSagaOptions,
  WaitForOptions,
  WaitOptions,
} from './definition/options/step-options.js';
export type {
  CompensationContext,
  ForEachContext,
  HeartbeatContext,
  ItemCompensationContext,
  KeyContext,
  StepContext,
  TransactionalCompensationContext,
  TransactionalStepContext,
} from './definition/types/contexts.js';
export type { OutboxMessage } from './definition/types/outbox-message.js';
export type {
  HandlerCompensationContext,
  HandlerContext,
  TransactionalHandlerCompensationContext,
  TransactionalHandlerContext,
} from './definition/types/handler-contexts.js';
// With a star, since applications can add to what is exported in this way only.
export type * from './definition/types/step-contracts.js';
export type { RemoteInput } from './definition/types/remote-input.js';
export type { Duration } from './definition/options/duration.js';
export type { RetryPolicy } from './definition/options/retry-policy.js';
export type { AttemptError, SagaFailure, SerializedError } from './definition/types/saga-failure.js';
export type { InputOf, ProgressReport, ResultsOf, SubSagaInput } from './definition/types/contexts.js';
export type { Serialized } from './shared/serialized.js';
export * from './errors.js';
export type { SagaStatus, StepStatus } from './definition/types/saga-status.js';
export type { LostLease } from './machine/saga-state.js';
export { SagaModule } from './nest/saga.module.js';
export type { SagaAmbient } from './nest/ambient.js';
export type { RequiredApprovals, SagaModuleOptions, SagaWorkerOptions } from './nest/saga.options.js';
export {
  type CleanupOptions,
  type CleanupResult,
  SAGA_CLEANUP_INTERVAL,
} from './nest/maintenance/saga.cleanup.js';
export { SAGA_PARTITIONS_INTERVAL } from './nest/maintenance/saga.partitions.js';
export { SAGA_POLL_INTERVAL } from './nest/maintenance/saga.poller.js';
export { SagaErrorFilter } from './nest/saga-error.filter.js';
export type { BulkAction } from './engine/ports/call-table.js';
export type { BulkOptions, BulkResult } from './nest/calls/bulk-edit.js';
export type { ExpectedState, OperatorOptions, ReasonOptions } from './nest/calls/operator-options.js';
export type { PausedStepsOptions } from './nest/calls/step-pause-calls.js';
export type { PausedStep } from './nest/views/paused-step.js';
export type { ShardDatabase, ShardedStart } from './nest/shards/shard-options.js';
export type { ShardStatus } from './nest/views/shard-status.js';
export type { ApprovalTask, TaskApproval } from './nest/views/approval-task.js';
export type { ScheduledStart, ScheduleStatus } from './nest/views/schedule-status.js';
export type { HistoryEntry } from './nest/views/saga-history.js';
export { describeWait, type RemoteHandlerRef, type WaitingFor } from './nest/views/waiting-for.js';
export { type TimelineEntry, timelineOf } from './nest/views/timeline.js';
export type { SagaStats } from './nest/views/saga-stats.js';
export type {
  OutcomeOptions,
  AbandonOptions,
  CancelOptions,
  ResolveOptions,
  RetryNowOptions,
  RetryOptions,
  SagaHandle,
  SagaTarget,
} from './nest/calls/saga-calls.js';
export { SagaOperations } from './nest/saga.operations.js';
export { SagaSchedules } from './nest/saga.schedules.js';
export { SagaService } from './nest/saga.service.js';
export { SagaShards } from './nest/saga.shards.js';
export type { SagaUpdate, SagaUpdateIterator, SagaUpdates } from './nest/calls/saga-watch.js';
export type { TaskFilter } from './nest/calls/tasks-page.js';
export type { Page, SagaFilter, TimeRange } from './nest/calls/saga-filter.js';
export type {
  OvertakenRollback,
  PendingRollback,
  SagaOutcome,
  ProgressSnapshot,
  SagaSnapshot,
  SagaSnapshotOf,
  SagaSummary,
  LostAttemptSnapshot,
  StepSnapshot,
  StepSnapshotOf,
} from './nest/views/saga-snapshot.js';
export type { Decision, SignalOptions } from './nest/calls/signals.js';
export type { StartOptions } from './nest/calls/start-options.js';
export {
  messagingMigrations,
  sagaMigrations,
  type SagaMigrationsOptions,
} from './store/postgres/schema/saga-migrations.js';
export type {
  DatabaseSession,
  JoinedTransaction,
  SagaDatabase,
  StatementLogger,
  TransactionOpener,
} from './store/postgres/connection/saga-database.js';
export type { PgClient, PgPool, PgStatement } from './store/postgres/connection/pg-types.js';
export type { Sql } from './store/postgres/connection/sql.js';
export type { Partitions } from './store/postgres/schema/partition-saga-tables.js';
export { sagaEntities, type SagaEntitiesOptions } from './store/postgres/schema/saga-entities.js';
export { SagaInstance, SagaStep } from './store/postgres/schema/saga-row.js';
export type { PayloadCodec, PayloadContext } from './store/coded/payload-codec.js';
export { AesGcmCodec, type AesGcmCodecOptions } from './store/coded/aes-gcm-codec.js';
export { describeSaga } from './definition/describe/saga-description.js';
export type {
  EdgeDescription,
  LimitDescription,
  RateLimitDescription,
  RetryDescription,
  SagaDescription,
  StepDescription,
} from './definition/describe/saga-description.js';
export { mermaidOf, type MermaidOptions } from './definition/describe/mermaid-of-graph.js';
export {
  layoutOf,
  type DrawableGraph,
  type EdgeLine,
  type GraphLayout,
  type LayoutOptions,
  type NodeBox,
} from './definition/describe/layout-graph.js';
export type { DefaultPolicies } from './definition/build/build-saga-graph.js';
export type { RollbackPlan, RollbackPlanStep } from './nest/views/rollback-plan.js';
