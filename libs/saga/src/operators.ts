/** What operators call and read, for tools: `nestjs-durable-saga/operators`. The services themselves are in the main entry. */
export type { LostLease } from './machine/saga-state.js';
export type { RequiredApprovals } from './nest/saga.options.js';
export {
  type CleanupOptions,
  type CleanupResult,
  SAGA_CLEANUP_INTERVAL,
} from './nest/maintenance/saga.cleanup.js';
export { SAGA_PARTITIONS_INTERVAL } from './nest/maintenance/saga.partitions.js';
export { SAGA_POLL_INTERVAL } from './nest/maintenance/saga.poller.js';
export type { BulkAction } from './engine/ports/call-table.js';
export type { BulkOptions, BulkResult } from './nest/calls/bulk-edit.js';
export type { ExpectedState, OperatorOptions, ReasonOptions } from './nest/calls/operator-options.js';
export type { PausedStepsOptions } from './nest/calls/step-pause-calls.js';
export type { PausedStep } from './nest/views/paused-step.js';
export type { ShardStatus } from './nest/views/shard-status.js';
export type { ScheduledStart, ScheduleStatus } from './nest/views/schedule-status.js';
export type { HistoryEntry } from './nest/views/saga-history.js';
export { describeWait, type RemoteHandlerRef } from './nest/views/waiting-for.js';
export { type TimelineEntry, timelineOf } from './nest/views/timeline.js';
export type { SagaStats } from './nest/views/saga-stats.js';
export type {
  AbandonOptions,
  ResolveOptions,
  RetryNowOptions,
  RetryOptions,
} from './nest/calls/saga-calls.js';
export type { OvertakenRollback, PendingRollback, LostAttemptSnapshot } from './nest/views/saga-snapshot.js';
export type { RollbackPlan, RollbackPlanStep } from './nest/views/rollback-plan.js';
export type { ApprovalTask, TaskApproval } from './nest/views/approval-task.js';
export type { TaskFilter } from './nest/calls/tasks-page.js';
