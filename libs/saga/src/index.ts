export { Saga } from './definition/saga.decorator.js';
export type { Durability, SagaOptions } from './definition/saga-options.js';
export type {
  StandardSchema,
  StandardSchemaIssue,
  StandardSchemaResult,
} from './definition/standard-schema.js';
export { Step } from './definition/step.decorator.js';
export { Approval } from './definition/approval.decorator.js';
export { SubSaga } from './definition/sub-saga.decorator.js';
export { RemoteStep } from './definition/remote-step.decorator.js';
export { StepHandler } from './definition/step-handler.decorator.js';
export { WaitFor } from './definition/wait-for.decorator.js';
export { OnSagaEvent } from './definition/on-saga-event.decorator.js';
export type { ObservedEvent, ObservedEventType } from './definition/observed-event.js';
export { analyzeSaga } from './definition/build-saga-graph.js';
export type { SagaFinding } from './definition/saga-finding.js';
export type {
  ApprovalDecision,
  ApprovalOptions,
  ItemsOf,
  NodeOptions,
  Predicate,
  ProbeAnswer,
  RateLimit,
  RemoteStepOptions,
  SavepointOptions,
  StepHandlerOptions,
  StepOptions,
  SubSagaOptions,
  WaitForOptions,
  WaitOptions,
} from './definition/step-options.js';
export type {
  CompensationContext,
  ForEachContext,
  ItemCompensationContext,
  StepContext,
  TransactionalCompensationContext,
  TransactionalStepContext,
} from './definition/contexts.js';
export type { OutboxMessage } from './definition/outbox-message.js';
export type {
  HandlerCompensationContext,
  HandlerContext,
  TransactionalHandlerCompensationContext,
  TransactionalHandlerContext,
} from './definition/handler-contexts.js';
// With a star, since applications can add to what is exported in this way only.
export type * from './definition/step-contracts.js';
export type { RemoteInput } from './definition/remote-input.js';
export type { Duration } from './definition/duration.js';
export type { RetryPolicy } from './definition/retry-policy.js';
export type { AttemptError, SagaFailure, SerializedError } from './definition/saga-failure.js';
export type { InputOf, ResultsOf, SubSagaInput } from './definition/saga-types.js';
export type { Serialized } from './definition/serialized.js';
export * from './errors/saga-errors.js';
export type { LostLease, SagaStatus, StepStatus } from './machine/saga-state.js';
export { SagaModule } from './nest/saga.module.js';
export type { ApprovalCounts, SagaModuleOptions, SagaWorkerOptions } from './nest/saga.options.js';
export { type CleanupOptions, type CleanupResult, SAGA_CLEANUP_INTERVAL } from './nest/saga.cleanup.js';
export { SAGA_PARTITIONS_INTERVAL } from './nest/saga.partitions.js';
export { SAGA_POLL_INTERVAL } from './nest/saga.poller.js';
export { SagaErrorFilter } from './nest/saga-error.filter.js';
export type { BulkAction, BulkOptions, BulkResult } from './nest/bulk-edit.js';
export type { ExpectedState, OperatorOptions } from './nest/operator-options.js';
export type { HistoryEntry } from './nest/saga-history.js';
export type { SagaStats } from './nest/saga-stats.js';
export {
  type OutcomeOptions,
  type RetryOptions,
  type SagaHandle,
  SagaService,
  type SagaTarget,
  type SkipOptions,
} from './nest/saga.service.js';
export type { Page, SagaFilter } from './nest/saga-filter.js';
export type {
  AskedHandler,
  OvertakenRollback,
  PendingRollback,
  SagaOutcome,
  SagaSnapshot,
  SagaSnapshotOf,
  SagaSummary,
  LostAttemptSnapshot,
  StepSnapshot,
  StepSnapshotOf,
  WaitingFor,
} from './nest/saga-snapshot.js';
export type { Decision, SignalOptions } from './nest/signals.js';
export type { StartOptions } from './nest/start-options.js';
export {
  messagingMigrations,
  sagaMigrations,
  type SagaMigrationsOptions,
} from './store/postgres/migrations/saga-migrations.js';
export type { Partitions } from './store/postgres/migrations/partition-saga-tables.js';
export { sagaEntities, SagaInstance, SagaStep } from './store/postgres/saga-entities.js';
export type { PayloadCodec, PayloadContext } from './store/coded/payload-codec.js';
export { AesGcmCodec, type AesGcmCodecOptions } from './store/coded/aes-gcm-codec.js';
export { describeSaga } from './definition/describe-saga.js';
export type {
  EdgeDescription,
  RetryDescription,
  SagaDescription,
  StepDescription,
} from './definition/saga-description.js';
export { mermaidOf, type MermaidOptions } from './definition/mermaid-of-graph.js';
export {
  layoutOf,
  type DrawableGraph,
  type EdgeLine,
  type GraphLayout,
  type LayoutOptions,
  type NodeBox,
} from './definition/layout-graph.js';
export type { DefaultPolicies } from './definition/build-saga-graph.js';
export type { RollbackPlan, RollbackPlanStep } from './nest/rollback-plan.js';
