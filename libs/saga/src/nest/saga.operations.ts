import { Inject, Injectable, type Type } from '@nestjs/common';
import type { Duration } from '../definition/options/duration.js';
import type { BulkAction } from '../engine/ports/call-table.js';
import { bulkEdit, type BulkOptions, type BulkResult, type EditOne } from './calls/bulk-edit.js';
import { type OperatorOptions, readWho, type ReasonOptions } from './calls/operator-options.js';
import { findPage, listOn, type Page, type SagaFilter } from './calls/saga-filter.js';
import { checkedStep, type PausedStepsOptions, readPausedStepsOptions } from './calls/step-pause-calls.js';
import type { ServiceRuntime } from './assemble-engine.js';
import { SagaRuntime } from './saga.runtime.js';
import type { CleanupOptions, CleanupResult } from './maintenance/saga.cleanup.js';
import {
  type AbandonOptions,
  notFound,
  type ResolveOptions,
  type RetryNowOptions,
  type RetryOptions,
  type SagaTarget,
  toTarget,
  unknownCompensations,
} from './calls/saga-calls.js';
import { type PausedStep, toPausedSteps } from './views/paused-step.js';
import { handlerGraphOf } from './views/read-snapshot.js';
import { type RollbackPlan, toRollbackPlan } from './views/rollback-plan.js';
import { type HistoryEntry, toHistoryEntry } from './views/saga-history.js';
import { type SagaStats, toSagaStats } from './views/saga-stats.js';
import { operate } from './calls/operate.js';
import { loadSaga } from './calls/load-saga.js';

/** The maximum number of entries that `history()` returns. */
const LONGEST_HISTORY = 1_000;

/**
 * What operators do with sagas, with steps of all sagas of a name, and with ended sagas. A call that changes one saga is stored in
 * its history, with the operator and the reason. It throws SagaNotFoundError if the saga does not exist, SagaValidationError
 * for invalid options and for a step that the saga does not have, and SagaApprovalPendingError if `forRoot({ approvals })`
 * requires other operators to make it, too.
 */
@Injectable()
export class SagaOperations {
  /** @hidden */
  constructor(@Inject(SagaRuntime) private readonly runtime: ServiceRuntime) {}

  /**
   * Marks a step as done elsewhere, with `result`: one that has failed, is running, waits or is next. If the saga compensates,
   * the step's compensation is marked as done, and `result` is not allowed. If an attempt of the saga is in progress, the worker loses the lease of the
   * saga, as for `abandon()`. An `@Approval` step that is not decided is approved by it, as `approve()` does, with the same
   * quorum: `by` is required, `reason` is the comment, and `result` is not allowed.
   * @param step the name of the step, or of an item (`ship[3]`)
   * @throws SagaStateError if the step is none of these, waits for a sub-saga, or an at-most-once step is in progress, too
   * @throws SagaPayloadError if JSON cannot represent the result; the message names the path
   * @throws SagaValidationError for an approval without `by`, and for a result of an approval or a compensation
   */
  async resolve(target: SagaTarget, step: string, options?: OperatorOptions & ResolveOptions): Promise<void> {
    await operate(this.runtime, 'resolve', target, options, { step });
  }

  /**
   * Retries the failed steps of a stuck or suspended saga, with all attempts again; of one that goes on, its failed compensations.
   * @param options `step`: the only step to retry; `input`: an input that replaces the saga's input, and keeps the stored values
   * where it says `[redacted]` at a path of `@Saga({ redact })`
   * @throws SagaStateError if the saga is not stuck or suspended, or not at this step; if it goes on: without a failed compensation,
   * while an attempt is in progress, and with `input`
   * @throws SagaValidationError if no stored value belongs to a `[redacted]` of the input; the message names the path
   */
  async retry(target: SagaTarget, options?: OperatorOptions & RetryOptions): Promise<void> {
    await operate(this.runtime, 'retry', target, options);
  }

  /**
   * Makes the next attempt of a step or a compensation at once, if a running or compensating saga waits for it.
   * @param options `step`: the only step, or item (`ship[3]`), whose attempt is made. Default: all that wait for one
   * @throws SagaStateError if no attempt waits, or another one is in progress
   */
  async retryNow(target: SagaTarget, options?: OperatorOptions & RetryNowOptions): Promise<void> {
    await operate(this.runtime, 'retryNow', target, options);
  }

  /**
   * Abandons an attempt of a step or of its compensation that does not end: its outcome is unknown from now on. By the
   * retry policy, the next attempt follows; without one, the saga rolls back, or is stuck. The worker loses the lease of
   * the saga: what the method still does does not count, and other attempts of the saga in progress are interrupted.
   * @param step the name of the step, or of an item (`ship[3]`)
   * @throws SagaStateError if no attempt of the step is in progress, or an at-most-once step is, too
   */
  async abandon(target: SagaTarget, step: string, options?: OperatorOptions & AbandonOptions): Promise<void> {
    await operate(this.runtime, 'abandon', target, options, { step });
  }

  /**
   * Moves the time that a step waits for: the end of its delay, the end of its wait for a signal, an approval or the reply
   * to its compensation, or its next attempt. A wait without a timeout ends at this time from now on.
   * @param step the name of the step, or of an item (`ship[3]`)
   * @param at the time, or a duration from now. A time in the past means at once
   * @throws SagaStateError if the step waits for no time (the message names what it does), or an attempt of the saga is in
   * progress
   */
  async reschedule(
    target: SagaTarget,
    step: string,
    at: Date | Duration,
    options?: OperatorOptions,
  ): Promise<void> {
    await operate(this.runtime, 'reschedule', target, options, { step, at });
  }

  /**
   * Pauses a saga until an operator resumes it. Running steps finish first. If the saga ends with them, it is not
   * paused. Its deadline, its waits and its sub-sagas continue while it is paused. A paused saga is unchanged.
   * @throws SagaStateError if the saga has ended, or needs attention
   */
  async pause(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    await operate(this.runtime, 'pause', target, options);
  }

  /**
   * Resumes a paused saga.
   * @throws SagaStateError if the saga is not paused, or not yet paused because a step is running
   */
  async resume(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    await operate(this.runtime, 'resume', target, options);
  }

  /**
   * Compensates a completed saga: its compensations run in reverse, as if it had failed after its last step. A saga
   * that is already compensated or compensating by `undo()` is unchanged.
   * @throws SagaStateError if the saga is not completed (also if it was compensated or cancelled), or has passed its
   * pivot
   */
  async undo(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    await operate(this.runtime, 'undo', target, options);
  }

  /**
   * Stops the saga at once and compensates nothing. Sub-sagas that its steps wait for are aborted as well. An aborted
   * saga is unchanged.
   * @throws SagaStateError if the saga has ended otherwise
   */
  async abort(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    await operate(this.runtime, 'abort', target, options);
  }

  /**
   * Runs an action on each saga that matches a filter, newest first. A saga whose state does not allow the action, or
   * that has changed since it was found, is unchanged and reported in the result. `dryRun` only counts.
   * @throws SagaValidationError for an invalid filter or invalid options
   */
  async bulk(action: BulkAction, filter: SagaFilter, options?: BulkOptions): Promise<BulkResult> {
    const { engine, registry } = await this.runtime.ready();
    // What is changed is found on the primary.
    const find = (of: SagaFilter) => findPage(of, registry, listOn(engine));
    const edit: EditOne = (id, given) => operate(this.runtime, action, id, given);
    return bulkEdit(edit, find, action, filter, options);
  }

  /**
   * Returns the operator actions on a saga and the signals that it received: the latest 1,000, oldest first.
   * @throws SagaNotFoundError if the saga does not exist
   */
  async history(target: SagaTarget): Promise<HistoryEntry[]> {
    const { engine, registry } = await this.runtime.ready();
    const records = await engine.history(toTarget(target, registry), LONGEST_HISTORY);
    if (!records) throw notFound(target);
    return records.map(toHistoryEntry);
  }

  /**
   * Returns the compensations that cancelling or undoing the saga would run in its current state, in order, with their
   * arguments, including those of sub-sagas. Runs none of them.
   * @throws SagaNotFoundError if the saga does not exist
   * @throws SagaDefinitionError if this application does not have this version of the saga
   */
  async previewRollback(target: SagaTarget): Promise<RollbackPlan> {
    const { saga, parts } = await loadSaga(this.runtime, target);
    const graph = (await parts.engine.graphOf(saga)) ?? (await handlerGraphOf(saga, parts));
    if (!graph) throw unknownCompensations(saga);
    return toRollbackPlan(graph, saga, (id) => this.previewRollback(id));
  }

  /**
   * Returns counts of unfinished sagas and messages, over all applications of this database. It reads each saga that is
   * due or leased.
   */
  async stats(): Promise<SagaStats> {
    const { engine } = await this.runtime.ready();
    return toSagaStats(await engine.stats());
  }

  /**
   * Pauses a step of all sagas of a name, in all versions: no attempt of it begins in any process until it is resumed, also no
   * other attempt after a failure. Attempts in progress end normally. Compensations, deadlines, timeouts, other branches and
   * operator actions continue. Other processes follow as soon as they are notified, or with their next poll. A paused step is
   * unchanged.
   * @throws SagaNotFoundError if no application of this database has the saga
   * @throws SagaValidationError if no version of the saga has the step, and for invalid options
   * @throws SagaShardUnavailableError if a shard cannot be reached; the step is paused on the others
   */
  async pauseStep(saga: Type | string, step: string, options?: ReasonOptions): Promise<void> {
    const who = readWho('pauseStep', options);
    const parts = await this.runtime.ready();
    const paused = await checkedStep('pauseStep', parts, saga, step);
    await parts.engine.pauseStep(paused, who);
  }

  /**
   * Resumes a paused step. The sagas that wait for it continue. A step that is not paused is unchanged.
   * @throws the same errors as pauseStep()
   */
  async resumeStep(saga: Type | string, step: string, options?: ReasonOptions): Promise<void> {
    const who = readWho('resumeStep', options);
    const parts = await this.runtime.ready();
    const resumed = await checkedStep('resumeStep', parts, saga, step, true);
    await parts.engine.resumeStep(resumed, who);
  }

  /**
   * Returns the paused steps of all applications of this database, the oldest pause first.
   * @throws SagaValidationError for invalid options
   */
  async pausedSteps(options?: PausedStepsOptions): Promise<Page<PausedStep>> {
    const { resumed } = readPausedStepsOptions(options);
    const { engine } = await this.runtime.ready();
    const pauses = await engine.stepPauses(resumed);
    const { unreachable } = pauses;
    return { items: toPausedSteps(pauses), ...(unreachable && { unreachable }) };
  }

  /**
   * Deletes ended sagas, oldest first, with their sub-sagas and all of their data: those whose `retention` has passed,
   * or that ended before `olderThan`. A saga with an unfinished sub-saga is kept. It uses short transactions that do
   * not block others. Deleted correlation ids can be used again.
   * @throws SagaValidationError for invalid options, or if neither `olderThan` nor a retention is set
   */
  async cleanup(options?: CleanupOptions): Promise<CleanupResult> {
    return (await this.runtime.ready()).cleanup.cleanup(options);
  }
}
