export { Saga } from './definition/decorators/saga.decorator.js';
export type { Durability, SagaOptions } from './definition/options/saga-options.js';
export type { ScheduleOptions, ScheduleRule, ScheduleTick } from './definition/options/schedule-options.js';
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
export type { StartTimeOf, TimeOf } from './definition/options/time-of.js';
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
export { SagaModule } from './nest/saga.module.js';
export type { SagaAmbient } from './nest/ambient.js';
export type { SagaModuleOptions, SagaWorkerOptions } from './nest/saga.options.js';
export { SagaErrorFilter } from './nest/saga-error.filter.js';
export type { WaitingFor } from './nest/views/waiting-for.js';
export type { OutcomeOptions, CancelOptions, SagaHandle, SagaTarget } from './nest/calls/saga-calls.js';
export { SagaOperations } from './nest/saga.operations.js';
export { SagaSchedules } from './nest/saga.schedules.js';
export { SagaService } from './nest/saga.service.js';
export { SagaShards } from './nest/saga.shards.js';
export type { SagaUpdate, SagaUpdateIterator, SagaUpdates } from './nest/calls/saga-watch.js';
export type { Page, SagaFilter, TimeRange } from './nest/calls/saga-filter.js';
export type {
  SagaOutcome,
  ProgressSnapshot,
  SagaSnapshot,
  SagaSnapshotOf,
  SagaSummary,
  StepSnapshot,
  StepSnapshotOf,
} from './nest/views/saga-snapshot.js';
export type { Decision, SignalOptions } from './nest/calls/signals.js';
export type { StartOptions } from './nest/calls/start-options.js';

// The compiler finds a name for what a service returns in the declarations of an application: only among files that it has read.
export type {} from './operators.js';
export type {} from './diagram.js';
export type {} from './database.js';
export type {} from './encryption.js';
