/**
 * Data and rules, for the other packages of this library in the same version. Loads no package but those that rules need, so that
 * a command starts at once. Not for applications: names here change without notice.
 */
export { buildHandlerGraphs } from './definition/build/build-handler-graphs.js';
export { buildSagaGraph } from './definition/build/build-saga-graph.js';
export { SagaMetadata } from './definition/decorators/saga-metadata.js';
export { methodsOf } from './definition/decorators/saga-methods.js';
export { sagaNameOf } from './definition/decorators/saga-name.js';
export { diffGraphs } from './definition/describe/diff-graphs.js';
export { graphOfDescription } from './definition/describe/graph-of-description.js';
export { recordOf, type GraphRecord, type OperatorRules } from './definition/describe/graph-record.js';
export { mermaidOf } from './definition/describe/mermaid-of-graph.js';
export { childOf, describeSaga, descriptionOf } from './definition/describe/saga-description.js';
export { linkSubSagas } from './definition/graph/link-sub-sagas.js';
export { sagaLabel, stepOfKey, type SagaGraph } from './definition/graph/saga-graph.js';
export {
  DURATION_PATTERN,
  LONGEST_TIMER,
  readDuration,
  toMilliseconds,
} from './definition/options/duration.js';
export { handlerOf, handlerSaga } from './definition/options/handler-name.js';
export * as kind from './definition/options/kinds.js';
export { duration } from './definition/options/kinds.js';
export * as limits from './definition/options/limit-options.js';
export {
  OptionReader,
  optional,
  required,
  withDefault,
  type AnyTable,
  type Kind,
  type Option,
  type OptionTable,
  type OptionsRead,
  type ValueShape,
} from './definition/options/option-reader.js';
export { readOptions, reportedOptions, withoutProblems } from './definition/options/read-options.js';
export {
  RETRY_POLICY,
  policyOf,
  retryDelay,
  type ResolvedRetryPolicy,
} from './definition/options/retry-policy.js';
export { SAGA_DECORATOR_OPTIONS } from './definition/options/saga-options.js';
export { SCHEDULE_OPTIONS } from './definition/options/schedule-options.js';
export { signalName } from './definition/options/signal-name.js';
export { SAVEPOINT_OPTIONS, SUB_SAGA_OPTIONS, WORK_OPTIONS } from './definition/options/step-options.js';
export { isEnd } from './definition/types/observed-event.js';
export { NEEDS_ATTENTION, SAGA_STATUSES, type STATUS_GROUPS } from './definition/types/saga-status.js';
export { awaitsDecision, isApproval } from './engine/operate/approvals.js';
export { allowedCalls, type AllowedCall } from './engine/operate/call-rules.js';
export { redactedInputPaths } from './engine/operate/keep-redacted.js';
export { outgoingMessage, type OutgoingMessage, relayedMessage } from './engine/payload/outgoing-message.js';
export { decodePayload } from './engine/payload/payload.js';
export { serializeError } from './engine/payload/serialize-error.js';
export { LONGEST_KEY, isKey, isUuid } from './engine/payload/storable-key.js';
export {
  BULK_ACTIONS,
  CALL_NAMES,
  DECISION_CALLS,
  argumentsOf,
  callerOptionsOf,
  factsOf,
  isBulk,
  type CallFacts,
  type CallName,
  type CallOption,
  type DecisionCall,
} from './engine/ports/call-table.js';
export type { StoredMessage } from './engine/ports/checkpoint.js';
export type { EngineLog, LogSubject } from './engine/ports/engine-log.js';
export type { GraphReader, SagaVersion, StoredGraph } from './engine/ports/graph-store.js';
export type { Invoker, RunnableSaga } from './engine/ports/invoker.js';
export type { NewSaga, StoredSaga } from './engine/ports/stored-saga.js';
export type { StoredShard } from './engine/ports/stored-shard.js';
export { SagaConfigurationError, SagaStateError, SagaTimeoutError, StepRejectedError } from './errors.js';
export { STEP_STATUSES } from './machine/data/step-kinds.js';
export type { SagaEvent } from './machine/saga-event.js';
export { isSettled, needsOperator } from './machine/saga-state.js';
export { awaitedBy } from './machine/sub-sagas.js';
export { ERROR_ANSWERS } from './nest/error-answers.js';
export { CLEANUP_LIMIT } from './nest/maintenance/saga.cleanup.js';
export { makeCall } from './nest/make-call.js';
export { describeOperation, withoutGiven } from './nest/views/describe-operation.js';
export { isQuiet, openQuestions, type OpenQuestion } from './nest/views/open-questions.js';
export { mapPayloads } from './nest/views/saga-snapshot.js';
export { shardCountsOf } from './nest/views/shard-status.js';
export { timelineOf } from './nest/views/timeline.js';
export { toOutcome } from './nest/views/to-snapshot.js';
export { describeWait, partsOfWait, type WaitPart } from './nest/views/waiting-for.js';
export { systemClock, type Clock, type Timer } from './shared/clock.js';
export { textOfDiagnostic, textOfProblems, type Diagnostic, type Report } from './shared/diagnostic.js';
export { durationText, fromNow } from './shared/duration-text.js';
export { ifInstalled } from './shared/if-installed.js';
export { inTime } from './shared/in-time.js';
export { Later } from './shared/later.js';
export { newId } from './shared/new-id.js';
export { nearestName, suggestion } from './shared/nearest-name.js';
export { oneLine } from './shared/one-line.js';
export { inOwnContext } from './shared/own-context.js';
export { PAGE_SIZE } from './shared/page-size.js';
export { PendingCount } from './shared/pending-count.js';
export { readObject, unknownFlaw } from './shared/read-object.js';
export { redact } from './shared/redact.js';
export { cut, shown } from './shared/shown-value.js';
export { repeated, transientWait } from './shared/transient-wait.js';
export { withoutUndefined } from './shared/without-undefined.js';
export { isSchemaName, schemaName, wakeupChannel } from './store/postgres/connection/schema-name.js';
export { severalHosts } from './store/postgres/connection/several-hosts.js';
export { DEFAULT_SCHEMA } from './store/postgres/schema/saga-entities.js';
