import { Inject, Injectable, type Type } from '@nestjs/common';
import type { Duration } from '../definition/options/duration.js';
import type { InputOf } from '../definition/types/contexts.js';
import { SagaStateError } from '../errors.js';
import { newSagaOf } from '../engine/operate/new-saga.js';
import { lockKeyOf } from '../engine/payload/start-keys.js';
import { CALL_RULES } from '../engine/operate/call-rules.js';
import { checkNamed, operated } from '../engine/operate/operator-calls.js';
import { encodePayload } from '../engine/payload/payload.js';
import { awaitedBy } from '../machine/sub-sagas.js';
import type { BulkAction, ChangingCall } from '../engine/ports/call-table.js';
import type { StoredSaga } from '../engine/ports/stored-saga.js';
import type { EngineCalls } from '../shards/engine-calls.js';
import type { ShardCall } from '../store/postgres/shards/postgres-shard-row.js';
import { bulkEdit, type BulkOptions, type BulkResult } from './calls/bulk-edit.js';
import { type OperatorOptions, type ReasonOptions, readWho } from './calls/operator-options.js';
import { readCall } from './calls/read-call.js';
import { noShards } from './shards/shard-calls.js';
import { findPage, listOn, type Page, type SagaFilter } from './calls/saga-filter.js';
import { type SagaUpdates, watchSaga } from './calls/saga-watch.js';
import { knownSchedule, scheduledGraph } from './calls/schedule-calls.js';
import { checkedStep, type PausedStepsOptions, readPausedStepsOptions } from './calls/step-pause-calls.js';
import { type TaskFilter, tasksPage } from './calls/tasks-page.js';
import { tagsWith } from './ambient.js';
import type { ServiceParts, ServiceRuntime } from './assemble-engine.js';
import { SagaRuntime } from './saga.runtime.js';
import { newId } from '../shared/new-id.js';
import { withoutContext } from '../shared/own-context.js';
import { TURN_BUDGET } from '../shared/turn-budget.js';
import type { CleanupOptions, CleanupResult } from './maintenance/saga.cleanup.js';
import { type Decision, UnawaitedSignalError, readSignal, type SignalOptions } from './calls/signals.js';
import { type StartOptions, toStartFields } from './calls/start-options.js';
import {
  type AbandonOptions,
  approvalPending,
  type CancelOptions,
  type CompleteOptions,
  checkSame,
  lockConflict,
  notFound,
  type OutcomeOptions,
  readTimeout,
  type RetryOptions,
  type SagaHandle,
  type SagaTarget,
  type SkipOptions,
  toTarget,
  unknownCompensations,
} from './calls/saga-calls.js';
import type { ApprovalTask } from './views/approval-task.js';
import { type PausedStep, toPausedSteps } from './views/paused-step.js';
import { handlerGraphOf, snapshotOf } from './views/read-snapshot.js';
import { type RollbackPlan, toRollbackPlan } from './views/rollback-plan.js';
import { type HistoryEntry, toHistoryEntry } from './views/saga-history.js';
import type { SagaOutcome, SagaSnapshotOf, SagaSummary } from './views/saga-snapshot.js';
import { type SagaStats, toSagaStats } from './views/saga-stats.js';
import { type ScheduleStatus, toScheduleStatus } from './views/schedule-status.js';
import type { ShardStatus } from './views/shard-status.js';
import { toOutcome } from './views/to-snapshot.js';

/** The maximum number of entries that `history()` returns. */
const LONGEST_HISTORY = 1_000;

/** Starts sagas, reads them, waits for them, and runs operator actions on them. */
@Injectable()
export class SagaService {
  /** @hidden */
  constructor(@Inject(SagaRuntime) private readonly runtime: ServiceRuntime) {}

  /**
   * Starts a saga. When the promise resolves, the saga is stored and runs even if this process dies. Concurrent calls
   * share round trips to the database.
   *
   * @throws SagaPayloadError if JSON cannot represent the input; the message names the path
   * @throws SagaValidationError for invalid options, for an input that is not valid by `@Saga({ input })` (the message
   * names each path), or if lockKey does not return a key
   * @throws SagaConflictError if the id or correlation id belongs to a saga with another input
   * @throws SagaCodecError if the codec cannot encode the input, or cannot decode the input of the existing saga
   * @throws SagaUnavailableError if the database could not be reached for 30 s
   * @throws SagaShardUnavailableError with shards, at once, if the shard cannot be reached
   * @throws SagaStateError with shards, if the shard is drained
   */
  start<S>(saga: Type<S>, input: InputOf<S>, options?: StartOptions): Promise<SagaHandle<S>>;
  /**
   * Starts a saga by its name, in its highest version: a declared saga, for example. `S` types its input and its results: an
   * interface with a method for each step. Default: both are untyped.
   */
  start<S = unknown>(
    saga: string,
    input: NoInfer<InputOf<S>>,
    options?: StartOptions,
  ): Promise<SagaHandle<S>>;
  async start(saga: Type | string, input: unknown, options?: StartOptions): Promise<SagaHandle<unknown>> {
    const running = await this.runtime.ready();
    const { registry, shards } = running;
    const graph = typeof saga === 'string' ? registry.latestOf(saga) : registry.latest(saga);
    const fields = toStartFields(options);
    const { transaction: given, shard, correlationId, priority, delay, startAt } = fields;
    if (shard !== undefined && !shards) throw noShards('start', shard);
    const { ambient } = running.options;
    const transaction = given ?? ambient?.transaction?.();
    const checked = graph.input === undefined ? input : await registry.checked(graph, input);
    if (TURN_BUDGET.isSpent) await TURN_BUDGET.nextTurn();
    const text = encodePayload(checked, 'input', running.options.maxPayloadBytes);
    const [id, fresh] = [fields.id ?? newId(), fields.id === undefined];
    const tags = tagsWith(ambient, fields.tags);
    const lockRejects = graph.rejectsWhileLocked;
    const fixed = { id, fresh, correlationId, priority, delay, startAt, tags, lockRejects };
    const now = () => running.engine.now();
    const lockKey = graph.lockKey && (await lockKeyOf(graph, text));
    const made = newSagaOf(graph, text, fixed, now, lockKey);
    const to = { shard, transaction, input: checked };
    const placed = shards && (await withoutContext(() => shards.place(made, to)));
    const start = placed ? placed.saga : made;
    const { engine, database } = placed ?? running;
    const result = await (transaction ? engine.submitWithin(transaction, start) : engine.submit(start));
    if (!result.created && !result.existing) throw lockConflict(start, result.lockHolder);
    if (!result.created) checkSame(start, result.existing);
    const isUncommitted = transaction && database?.join(transaction).follow?.();
    const { created } = result;
    return this.handle(created ? start.id : result.existing.id, created, engine, isUncommitted);
  }

  /**
   * Returns a saga. With the saga's class in the target, or as in `get<PlaceOrderSaga>(id)`, the input and the results
   * have the types of that class.
   * @throws SagaNotFoundError if the saga does not exist
   * @throws SagaCodecError if this process cannot decode the stored values
   */
  async get<S = unknown>(target: SagaTarget<S>): Promise<SagaSnapshotOf<S>> {
    const { saga, parts } = await this.load(target);
    return (await snapshotOf(saga, parts)) as SagaSnapshotOf<S>;
  }

  /**
   * Watches a saga: the current state first, then each later one, in order, until the saga has ended (`completed`,
   * `compensated` or `aborted`). A saga that needs attention (`stuck`, `suspended`, `paused`) is still watched. Return it
   * from an `@Sse()` method, or iterate it with `for await`.
   *
   * A watcher holds no connection and no buffer: the newest state counts, and those in between may be left out. Changes that
   * this process makes are seen at once. Changes of other processes are seen after 0.25 s, or up to 2 s if the saga has not
   * changed for a while. Watching ends with the saga, the subscription (or the loop), and the application.
   *
   * Errors of the Observable, and of the loop: SagaNotFoundError if the saga does not exist or is deleted;
   * SagaUnavailableError if this process shuts down; SagaCodecError if it cannot decode the stored values;
   * SagaValidationError for an invalid target
   */
  watch<S = unknown>(target: SagaTarget<S>): SagaUpdates<S> {
    return watchSaga<S>(() => this.load(target));
  }

  /**
   * Lists sagas that match a filter, newest first, one page at a time. With `forRoot({ readFrom })`, the page is from the
   * standby, and may lack the newest changes.
   * @throws SagaValidationError for an invalid filter
   */
  async find(filter?: SagaFilter): Promise<Page<SagaSummary>> {
    const { engine, registry, list } = await this.runtime.ready();
    return findPage(filter, registry, list ?? listOn(engine));
  }

  /**
   * Lists the steps that wait for an operator's decision and have none yet, of running sagas, oldest first, one page at a
   * time. Each is decided by `approve()` or `reject()`. The steps of a paused saga are listed again once it is resumed. The
   * page is from the primary, also with `forRoot({ readFrom })`. A page costs its rows, however many steps wait; with `tags`
   * also the tasks that it leaves out.
   * @throws SagaValidationError for an invalid filter
   */
  async tasks(filter?: TaskFilter): Promise<Page<ApprovalTask>> {
    const { engine, registry } = await this.runtime.ready();
    return tasksPage(filter, registry, engine);
  }

  /**
   * Waits until the saga ends or needs attention. Holds no connection while it waits. A step that calls it keeps its slot of
   * the worker: let a step wait by `@SubSaga` instead.
   * @throws SagaNotFoundError if the saga does not exist or is deleted while the call waits
   * @throws SagaTimeoutError after `timeout`; the saga continues
   * @throws SagaUnavailableError if this process shuts down before the saga ends; the saga continues in another process
   */
  async wait<S = unknown>(target: SagaTarget<S>, options?: OutcomeOptions): Promise<SagaOutcome<S>> {
    const running = await this.runtime.ready();
    const timeout = readTimeout('wait', options);
    const { id } = await this.get(target);
    return this.handle<S>(id, false, running.engine).outcome({ timeout });
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
   * Returns counts of unfinished sagas and messages, over all applications of this database. It reads each saga that is
   * due or leased.
   */
  async stats(): Promise<SagaStats> {
    const { engine } = await this.runtime.ready();
    return toSagaStats(await engine.stats());
  }

  /**
   * Returns the compensations that cancelling or undoing the saga would run in its current state, in order, with their
   * arguments, including those of sub-sagas. Runs none of them.
   * @throws SagaNotFoundError if the saga does not exist
   * @throws SagaDefinitionError if this application does not have this version of the saga
   */
  async previewRollback(target: SagaTarget): Promise<RollbackPlan> {
    const { saga, parts } = await this.load(target);
    const graph = (await parts.engine.graphOf(saga)) ?? (await handlerGraphOf(saga, parts));
    if (!graph) throw unknownCompensations(saga);
    return toRollbackPlan(graph, saga, (id) => this.previewRollback(id));
  }

  /**
   * Stops the saga and compensates its completed steps. `ctx.signal` of a running step aborts. If the step still
   * completes, it is compensated as well.
   * @throws SagaStateError if the saga has ended, is stuck while it compensates, or has passed a pivot. Also while the
   * outcome of a pivot is not known (an attempt is in progress, or may have taken effect): the message names the pivot;
   * repeat the call later. Also if the step of `unlessBegun` has begun, or may have
   * @throws SagaValidationError if the saga has no step of the name in `unlessBegun`
   */
  async cancel(target: SagaTarget, options?: OperatorOptions & CancelOptions): Promise<void> {
    await this.operate('cancel', target, options);
  }

  /**
   * Stops the saga at once and compensates nothing. Sub-sagas that its steps wait for are aborted as well. An aborted
   * saga is unchanged.
   * @throws SagaStateError if the saga has ended otherwise
   */
  async abort(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    const { state } = await this.operate('abort', target, options);
    // Called again after it was cut off in between, it goes on here.
    for (const { id } of awaitedBy(state)) await this.abortChild(id, options);
  }

  /** Aborts a sub-saga. A sub-saga that has ended is unchanged. */
  private async abortChild(id: string, { by, reason }: OperatorOptions = {}): Promise<void> {
    try {
      await this.abort(id, { by, reason });
    } catch (error) {
      if (!(error instanceof SagaStateError)) throw error;
    }
  }

  /**
   * Compensates a completed saga: its compensations run in reverse, as if it had failed after its last step. A saga
   * that is already compensated or compensating by `undo()` is unchanged.
   * @throws SagaStateError if the saga is not completed (also if it was compensated or cancelled), or has passed its
   * pivot
   */
  async undo(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    await this.operate('undo', target, options);
  }

  /**
   * Pauses a saga until an operator resumes it. Running steps finish first. If the saga ends with them, it is not
   * paused. Its deadline, its waits and its sub-sagas continue while it is paused. A paused saga is unchanged.
   * @throws SagaStateError if the saga has ended, or needs attention
   */
  async pause(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    await this.operate('pause', target, options);
  }

  /**
   * Resumes a paused saga.
   * @throws SagaStateError if the saga is not paused, or not yet paused because a step is running
   */
  async resume(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    await this.operate('resume', target, options);
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
    return bulkEdit(this, find, action, filter, options);
  }

  /**
   * Sends a signal to a saga, for one of its `@WaitFor` steps. When the promise resolves, the signal is stored. A
   * signal that arrives before the saga waits for it is kept. Signals of one name are consumed once each, in the order
   * in which they were sent. A signal with a `messageId` that the saga already received is dropped, even after the saga
   * has ended.
   *
   * @param payload the argument of the step's method, in its stored form
   * @throws SagaNotFoundError if the saga does not exist
   * @throws SagaStateError if the saga has ended
   * @throws SagaPayloadError if JSON cannot represent the payload; the message names the path
   * @throws SagaValidationError for a name that no step of this saga waits for, or an invalid messageId
   * @throws SagaTransactionError if `transaction` is already aborted, or is not one of the application's database layer
   */
  async signal(
    target: SagaTarget,
    signal: string,
    payload?: unknown,
    options?: SignalOptions,
  ): Promise<void> {
    const { engine, registry, options: resolved } = await this.runtime.ready();
    const { name, messageId = newId(), transaction: given } = readSignal(signal, options);
    const transaction = given ?? resolved.ambient?.transaction?.();
    const to = toTarget(target, registry);
    if (TURN_BUDGET.isSpent) await TURN_BUDGET.nextTurn();
    const text = encodePayload(payload, `payload of signal '${name}'`, resolved.maxPayloadBytes);
    const sent = { name, messageId, payload: text };
    const result = await (transaction ? engine.signalWithin(transaction, to, sent) : engine.signal(to, sent));
    if (result.outcome === 'unknown') throw notFound(target);
    const { saga } = result;
    if (result.outcome === 'refused') throw new UnawaitedSignalError(saga, name, result);
    if (result.outcome === 'ended') {
      throw new SagaStateError(
        `Saga ${saga.id} (${saga.name}) cannot be sent the signal '${name}': it is ${saga.status}.`,
      );
    }
  }

  /**
   * Approves an `@Approval` step. An approval that arrives before the saga waits for it is kept.
   * @throws SagaNotFoundError if the saga does not exist
   * @throws SagaStateError if the step has already been decided, or the saga has ended
   * @throws SagaValidationError if the step is not an approval, or `by` is missing
   */
  async approve(target: SagaTarget, step: string, decision: Decision): Promise<void> {
    await this.operate('approve', target, decision, { step });
  }

  /**
   * Rejects an `@Approval` step: its method is not called, and the saga compensates.
   * @throws the same errors as approve()
   */
  async reject(target: SagaTarget, step: string, decision: Decision): Promise<void> {
    await this.operate('reject', target, decision, { step });
  }

  /**
   * Retries the failed steps of a stuck or suspended saga, with all attempts again. With `now`, a saga that waits for
   * the next attempt of a step or a compensation makes it at once.
   * @param options `step`: the only step to retry; `input`: an input that replaces the saga's input, and keeps the stored values
   * where it says `[redacted]` at a path of `@Saga({ redact })`; `now`: see above
   * @throws SagaStateError if the saga is not stuck or suspended, or not at this step. With `now`, if no attempt waits,
   * or another one is in progress
   * @throws SagaValidationError if no stored value belongs to a `[redacted]` of the input; the message names the path
   */
  async retry(target: SagaTarget, options?: OperatorOptions & RetryOptions): Promise<void> {
    await this.operate('retry', target, options);
  }

  /**
   * Abandons an attempt of a step or of its compensation that does not end: its outcome is unknown from now on. By the
   * retry policy, the next attempt follows; without one, the saga rolls back, or is stuck. The worker loses the lease of
   * the saga: what the method still does does not count, and other attempts of the saga in progress are interrupted.
   * @param step the name of the step, or of an item (`ship[3]`)
   * @throws SagaStateError if no attempt of the step is in progress, or an at-most-once step is, too
   */
  async abandonAttempt(
    target: SagaTarget,
    step: string,
    options?: OperatorOptions & AbandonOptions,
  ): Promise<void> {
    await this.operate('abandonAttempt', target, options, { step });
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
    await this.operate('reschedule', target, options, { step, at });
  }

  /**
   * Marks a step that is running, waiting or next as completed elsewhere, with `result`. If the saga compensates, the
   * step's compensation is marked as completed. As for `abandonAttempt()`, the worker loses the lease of the saga.
   * @param step the name of the step, or of an item (`ship[3]`)
   * @throws SagaStateError if the step is neither running, waiting nor next, waits for a sub-saga, or an at-most-once step is
   * in progress, too
   * @throws SagaPayloadError if JSON cannot represent the result; the message names the path
   */
  async complete(
    target: SagaTarget,
    step: string,
    options?: OperatorOptions & CompleteOptions,
  ): Promise<void> {
    await this.operate('complete', target, options, { step });
  }

  /**
   * Marks the failed step or compensation of a stuck or suspended saga as completed manually. If the saga goes forward,
   * the step completes with `result`. If it compensates, the step is marked as compensated.
   * @throws SagaStateError if the saga is not stuck or suspended, or not at this step
   */
  async skip(target: SagaTarget, step: string, options?: OperatorOptions & SkipOptions): Promise<void> {
    await this.operate('skip', target, options, { step });
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

  /** Returns the schedules of all applications of this database, by the names of their sagas. */
  async schedules(): Promise<ScheduleStatus[]> {
    const { engine } = await this.runtime.ready();
    return (await engine.allSchedules()).map(toScheduleStatus);
  }

  /**
   * Pauses the schedule of a saga until an operator resumes it: its times start no saga and are not caught up. Sagas that
   * it has started continue. A paused schedule is unchanged.
   * @throws SagaNotFoundError if no process has run this schedule yet
   */
  async pauseSchedule(saga: Type | string, options?: ReasonOptions): Promise<void> {
    const who = readWho('pauseSchedule', options);
    const { engine, registry } = await this.runtime.ready();
    const name = registry.nameOf(saga);
    await engine.editSchedule(name, (stored, now) => {
      const schedule = knownSchedule(stored, name);
      return schedule.paused ? undefined : { schedule: { ...schedule, paused: { at: now, ...who } } };
    });
  }

  /**
   * Resumes a paused schedule, from the next scheduled time. A schedule that is not paused is unchanged.
   * @throws SagaNotFoundError if no process has run this schedule yet
   */
  async resumeSchedule(saga: Type | string, options?: ReasonOptions): Promise<void> {
    readWho('resumeSchedule', options);
    const { engine, registry } = await this.runtime.ready();
    const name = registry.nameOf(saga);
    await engine.editSchedule(name, (stored, now) => {
      const { paused, ...schedule } = knownSchedule(stored, name);
      if (!paused) return undefined;
      // What was due while it was paused has been left out, also if no process was there.
      return { schedule: { ...schedule, decidedUntil: Math.max(schedule.decidedUntil, now) } };
    });
  }

  /**
   * Starts the saga of a schedule now, beside its scheduled times, also while the schedule is paused.
   * @throws SagaStateError if `overlap` is `'skip'` and the saga that the schedule started last has not ended
   * @throws SagaDefinitionError if this application does not have the saga, or the saga has no schedule
   * @throws what `start()` throws for its input
   */
  async trigger<S = unknown>(saga: Type<S> | string): Promise<SagaHandle<S>> {
    const running = await this.runtime.ready();
    const id = await running.engine.trigger(scheduledGraph(running.registry, saga));
    return this.handle<S>(id, true, running.engine);
  }

  /**
   * Returns the shards of the application, in the order of the module's options, with counts of their sagas. Without
   * shards: none.
   */
  async shards(): Promise<ShardStatus[]> {
    return (await (await this.runtime.ready()).shards?.status()) ?? [];
  }

  /**
   * Drains a shard: no new sagas start there, in any process. Other processes see it after their next poll. Its sagas
   * continue, and their sub-sagas start there. What may start anywhere starts on other shards. A drained shard is unchanged.
   * @throws SagaValidationError if the application has no such shard
   * @throws SagaShardUnavailableError if the shard cannot be reached
   */
  async drain(shard: string, options?: ReasonOptions): Promise<void> {
    return this.changeShard('drain', shard, options);
  }

  /**
   * Admits new sagas to a shard that was drained, or that was added to the shards of the application. Call it once all
   * processes have the shard. A shard that accepts sagas is unchanged.
   * @throws the same errors as drain()
   */
  async admit(shard: string, options?: ReasonOptions): Promise<void> {
    return this.changeShard('admit', shard, options);
  }

  /**
   * Closes a shard, so that its tables can be copied to another server: see docs/shards.md. Each process stops its sagas and
   * its relay on the shard at its next poll, as at its own shutdown, and calls for its sagas fail with
   * SagaShardUnavailableError. Calls of `outcome()` and `watch()` that wait for its sagas end with an error. The call resolves
   * once nothing runs there any more. From then on the database refuses each change of these tables, from any process. A
   * closed shard is unchanged. The role of the application must own the tables.
   * @throws SagaUnavailableError if sagas or the relay of a process still run after a minute. Nothing new begins on the shard;
   * repeat the call
   * @throws the same errors as drain()
   */
  async close(shard: string, options?: ReasonOptions): Promise<void> {
    return this.changeShard('close', shard, options);
  }

  /**
   * Opens a closed shard: it is as it was before it was closed. Each process runs its sagas from its next poll on. A shard
   * that is open is unchanged.
   * @throws the same errors as drain()
   */
  async open(shard: string, options?: ReasonOptions): Promise<void> {
    return this.changeShard('open', shard, options);
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

  /**
   * An operator's call: what it does, kept in the saga's history with it.
   * @param operands what the call has before its options
   */
  private async operate(
    action: ChangingCall,
    target: SagaTarget,
    given: object | undefined,
    operands: Readonly<Record<string, unknown>> = {},
  ): Promise<StoredSaga> {
    const { engine, registry, options } = await this.runtime.ready();
    const call = readCall(action, operands, given, options);
    checkNamed(call);
    let pending: number | undefined;
    const edited = await engine.edit(toTarget(target, registry), (saga, graph, now) => {
      const made = operated(saga, call, () => CALL_RULES[action].edit(saga, graph, now, call));
      pending = made.pending;
      return made.edit;
    });
    if (!edited) throw notFound(target);
    if (pending !== undefined) throw approvalPending(edited.id, call, pending);
    return edited;
  }

  /** @throws SagaNotFoundError */
  private async load(target: SagaTarget): Promise<{ saga: StoredSaga; parts: ServiceParts }> {
    const parts = await this.runtime.ready();
    const saga = await parts.engine.load(toTarget(target, parts.registry));
    if (!saga) throw notFound(target);
    return { saga, parts };
  }

  /** @param isUncommitted the transaction that started it is open */
  private handle<S>(
    id: string,
    created: boolean,
    engine: Pick<EngineCalls, 'waiters'>,
    isUncommitted?: () => boolean,
  ): SagaHandle<S> {
    return {
      id,
      created,
      outcome: async (options) => {
        const settled = await engine.waiters.wait(id, readTimeout('outcome', options), isUncommitted);
        if (TURN_BUDGET.isSpent) await TURN_BUDGET.nextTurn();
        return toOutcome<S>(settled);
      },
    };
  }

  private async changeShard(call: ShardCall, shard: string, given: ReasonOptions | undefined): Promise<void> {
    const who = readWho(call, given);
    const { shards } = await this.runtime.ready();
    if (!shards) throw noShards(call, shard);
    await shards.change(shard, call, who);
  }
}
