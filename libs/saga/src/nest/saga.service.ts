import { Injectable, type Type } from '@nestjs/common';
import { type Duration, LONGEST_TIMER, toMilliseconds } from '../definition/options/duration.js';
import type { InputOf } from '../definition/types/contexts.js';
import { shown } from '../shared/shown-value.js';
import {
  SagaApprovalPendingError,
  SagaConflictError,
  SagaDefinitionError,
  SagaNotFoundError,
  SagaStateError,
  SagaValidationError,
} from '../errors.js';
import { decisionEdit } from '../engine/operate/approvals.js';
import { newSagaOf } from '../engine/operate/new-saga.js';
import { checkNamed, operated, type OperatorCall } from '../engine/operate/operator-calls.js';
import type { OperatorAction } from '../engine/ports/operation.js';
import {
  abortEdit,
  cancelEdit,
  pauseEdit,
  resumeEdit,
  retryEdit,
  skipEdit,
  undoEdit,
} from '../engine/operate/operator-edits.js';
import { encodePayload, samePayload } from '../engine/payload/payload.js';
import { awaitedBy } from '../engine/run/run-children.js';
import type { Edit, ExistingSaga, NewSaga, StoredSaga, StoreTarget } from '../engine/ports/saga-store.js';
import { type SagaGraph, sagaLabel } from '../definition/graph/saga-graph.js';
import { type BulkAction, bulkEdit, type BulkOptions, type BulkResult } from './calls/bulk-edit.js';
import { type OperatorOptions, readOperatorOptions } from './calls/operator-options.js';
import { type HistoryEntry, toHistoryEntry } from './views/saga-history.js';
import { type SagaStats, toSagaStats } from './views/saga-stats.js';
import { type RollbackPlan, toRollbackPlan } from './views/rollback-plan.js';
import {
  type SagaOutcome,
  type SagaSnapshotOf,
  type SagaSummary,
  toOutcome,
  toSnapshot,
  toSummary,
} from './views/saga-snapshot.js';
import { type Page, type SagaFilter, toStoreFilter } from './calls/saga-filter.js';
import { handlerGraphOf, remoteOf } from './views/remote-handlers.js';
import { type Running, SagaRuntime } from './saga.runtime.js';
import { newId } from '../shared/new-id.js';
import { isKey } from '../engine/payload/storable-key.js';
import type { CleanupOptions, CleanupResult } from './maintenance/saga.cleanup.js';
import { readOptions } from './calls/call-options.js';
import { type Decision, readDecision, readSignal, type SignalOptions } from './calls/signals.js';
import { isUuid, type StartOptions, toStartFields } from './calls/start-options.js';

/** A saga by its id, or by its name and correlation id. With its class, calls return what the class declares. */
export type SagaTarget<S = unknown> =
  string | { readonly saga: Type<S> | string; readonly correlationId: string };

/** A saga that was started, now or before. */
export interface SagaHandle<S = unknown> {
  /** The saga's id, a UUID. */
  readonly id: string;
  /** False: a saga with this correlation id, or this id, was there already. */
  readonly created: boolean;
  /**
   * Resolves once the saga is terminal or needs a person; holds no connection meanwhile.
   * @throws SagaTimeoutError past `timeout`; the saga goes on
   * @throws SagaNotFoundError when the saga was deleted, or the transaction that started it was rolled back
   * @throws SagaUnavailableError when this process shuts down before the saga is settled; the saga goes on elsewhere
   */
  outcome(options?: OutcomeOptions): Promise<SagaOutcome<S>>;
}

/** What `SagaHandle.outcome()` and `SagaService.wait()` take. */
export interface OutcomeOptions {
  /** How long to wait, at most 24 days; past it SagaTimeoutError is thrown. Default: as long as it takes. */
  timeout?: Duration;
}

/** What `SagaService.retry()` takes beside who and why. */
export interface RetryOptions {
  /**
   * Goes on with this input in place of the saga's, unchecked by its `@Saga({ input })`. The one that the saga was started
   * with is kept (`startedInput` of `get()`), and a repeated `start()` is compared with that. `undefined` keeps the input
   * that the saga has. Default: the one that it has.
   */
  input?: unknown;
  /** Only this one of several steps that gave up. Default: all of them. */
  step?: string;
}

/** What `SagaService.skip()` takes beside who and why. */
export interface SkipOptions {
  /** The step's result, as if its method had returned it. Default: `undefined`. */
  result?: unknown;
}

/** Entries. */
const LONGEST_HISTORY = 1_000;

type Change = (
  saga: StoredSaga,
  graph: SagaGraph | undefined,
  now: number,
  call: OperatorCall,
) => Edit | undefined;

/** Starts sagas, looks at them, waits for them, and lets an operator act on them. */
@Injectable()
export class SagaService {
  /** @hidden */
  constructor(private readonly runtime: SagaRuntime) {}

  /**
   * Starts a saga: when this resolves it is stored, and will be run whatever happens to this process.
   * Thousands of concurrent calls share their round trips.
   *
   * @throws SagaPayloadError when JSON cannot carry the input, naming the path in it
   * @throws SagaValidationError for wrong options, for an input that the saga's `input` refuses, naming each path in it, or
   * when the saga's lockKey gives no key
   * @throws SagaConflictError when the id or correlation id is that of a saga with another input
   * @throws SagaCodecError when the codec cannot encode the input, or decode that of the saga that is there
   * @throws SagaUnavailableError when the database could not be reached for 30 s
   */
  async start<S>(saga: Type<S>, input: InputOf<S>, options?: StartOptions): Promise<SagaHandle<S>> {
    const running = await this.runtime.ready();
    const { engine, registry } = running;
    const graph = registry.latest(saga);
    const { manager, ...fields } = toStartFields(options);
    const checked = graph.input === undefined ? input : await registry.checked(graph, input);
    const text = encodePayload(checked, 'input', running.options.maxPayloadBytes);
    const [id, fresh] = [fields.id ?? newId(), fields.id === undefined];
    const start = newSagaOf(graph, text, { ...fields, id, fresh });
    const result = await (manager ? engine.submitWithin(manager, start) : engine.submit(start));
    if (!result.created) checkSame(start, result.existing);
    const runner = manager?.queryRunner;
    const isUncommitted = runner && (() => runner.isTransactionActive && !runner.isReleased);
    const { created } = result;
    return this.handle(created ? start.id : result.existing.id, created, running, isUncommitted);
  }

  /**
   * Looks at a saga. With the saga's class in the target, or as in `get<PlaceOrderSaga>(id)`, the input and the results have
   * the types of that class.
   * @throws SagaNotFoundError
   * @throws SagaCodecError when this process cannot decode what is stored of it
   */
  async get<S = unknown>(target: SagaTarget<S>): Promise<SagaSnapshotOf<S>> {
    const running = await this.runtime.ready();
    const { engine, registry } = running;
    const saga = await engine.load(this.toTarget(target, registry));
    if (!saga) throw notFound(target);
    const graph = await engine.graphOf(saga);
    const remote = await remoteOf(saga, graph, running);
    const snapshot = toSnapshot(saga, {
      graph,
      now: engine.now(),
      limit: registry.concurrencyOf(saga.name),
      remote,
    });
    return snapshot as SagaSnapshotOf<S>;
  }

  /** Newest first, a page at a time. */
  async find(filter?: SagaFilter): Promise<Page<SagaSummary>> {
    const { engine, registry } = await this.runtime.ready();
    const query = toStoreFilter(filter, registry);
    const rows = await engine.find(query);
    const items = rows.slice(0, query.limit - 1).map(toSummary);
    return { items, next: rows.length === query.limit ? items.at(-1)!.id : undefined };
  }

  /**
   * Resolves once the saga is terminal or needs a person; holds no connection meanwhile.
   * @throws SagaNotFoundError when there is no such saga, or it was deleted meanwhile
   * @throws SagaTimeoutError past `timeout`; the saga goes on
   * @throws SagaUnavailableError when this process shuts down before the saga is settled; the saga goes on elsewhere
   */
  async wait<S = unknown>(target: SagaTarget<S>, options?: OutcomeOptions): Promise<SagaOutcome<S>> {
    const running = await this.runtime.ready();
    const timeout = readTimeout('wait', options);
    const { id } = await this.get(target);
    return this.handle<S>(id, false, running).outcome({ timeout });
  }

  /**
   * Stops the saga and compensates what was done. A step in progress settles first: its signal aborts, and if it
   * completes all the same, it is compensated like the rest.
   * @throws SagaStateError when it is terminal, is stuck while rolling back, or has passed a pivot; and while the outcome of
   * a pivot is not known (an attempt is in progress, or may have taken effect): the message names it, ask again then
   */
  cancel(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    return this.operate(target, 'cancel', options, (saga, graph, now, { reason }) =>
      cancelEdit(saga, graph, now, { reason }),
    );
  }

  /**
   * Stops the saga at once and undoes nothing; the sagas that its steps wait for are aborted, too.
   * A saga that is aborted already stays as it is.
   * @throws SagaStateError when it has ended otherwise
   */
  async abort(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    let awaited: readonly { readonly id: string }[] = [];
    await this.operate(target, 'abort', options, (saga, graph, now, { reason }) => {
      awaited = awaitedBy(saga.state);
      return abortEdit(saga, graph, now, { reason });
    });
    // Called again after it was cut off in between, it goes on here.
    for (const { id } of awaited) await this.abortChild(id, options);
  }

  /** One that has ended by itself meanwhile is left as it is. */
  private async abortChild(id: string, { by, reason }: OperatorOptions = {}): Promise<void> {
    try {
      await this.abort(id, { by, reason });
    } catch (error) {
      if (!(error instanceof SagaStateError)) throw error;
    }
  }

  /**
   * Undoes a saga that completed: its compensations run in reverse, as if it had failed after its last step.
   * Of a saga that is undone already, or is being undone, it does nothing.
   * @throws SagaStateError when it is not completed (compensated or cancelled, too), or has passed its point of no return
   */
  undo(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    return this.operate(target, 'undo', options, (saga, graph, now, { reason }) =>
      undoEdit(saga, graph, now, { reason }),
    );
  }

  /**
   * Lets a saga stand still, until somebody resumes it. Steps under way come to their end first, and if that is the end
   * of the saga, it is not paused. Its deadline, and what it waits for, go on meanwhile; the sagas that its steps have
   * started do, too. A saga that is paused already stays as it is.
   * @throws SagaStateError when it has ended, or needs an operator
   */
  pause(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    return this.operate(target, 'pause', options, pauseEdit);
  }

  /**
   * Lets a paused saga go on.
   * @throws SagaStateError when it is not paused, or not yet: a step is under way
   */
  resume(target: SagaTarget, options?: OperatorOptions): Promise<void> {
    return this.operate(target, 'resume', options, resumeEdit);
  }

  /**
   * The same for each saga that a filter finds, newest first. One that it does not fit, or that has changed since it was
   * found, is left as it is and told of. `dryRun` only counts.
   * @throws SagaValidationError for a wrong filter, or wrong options
   */
  async bulk(action: BulkAction, filter: SagaFilter, options?: BulkOptions): Promise<BulkResult> {
    return bulkEdit(this, action, filter, options);
  }

  /**
   * Tells a saga something that one of its `@WaitFor` steps waits for, or will. A saga that has not come so far yet
   * keeps it; signals of one name are taken once each, in the order in which they were sent. Resolved, it is stored.
   * A signal with a `messageId` that this saga was sent before is dropped, also when the saga has ended since.
   *
   * @param payload what the step's method is given, in its stored form
   * @throws SagaNotFoundError when there is no such saga
   * @throws SagaStateError when the saga has ended: nobody will take it any more
   * @throws SagaPayloadError when JSON cannot carry the payload, naming the path in it
   * @throws SagaValidationError for a name that no step of this saga waits for, or a wrong messageId
   */
  async signal(
    target: SagaTarget,
    signal: string,
    payload?: unknown,
    options?: SignalOptions,
  ): Promise<void> {
    const { engine, registry, options: resolved } = await this.runtime.ready();
    const { name, messageId = newId() } = readSignal(signal, options);
    const to = this.toTarget(target, registry);
    if ('name' in to) registry.checkSignal(to.name, name);
    const text = encodePayload(payload, `payload of signal '${name}'`, resolved.maxPayloadBytes);
    const result = await engine.signal(to, { name, messageId, payload: text });
    if (result.outcome === 'unknown') throw notFound(target);
    const { saga } = result;
    if (result.outcome === 'refused') registry.checkSignal(saga.name, name);
    if (result.outcome === 'ended') {
      throw new SagaStateError(
        `Saga ${saga.id} (${saga.name}) cannot be sent the signal '${name}': it is ${saga.status}.`,
      );
    }
  }

  /**
   * Approves what an `@Approval` step asks for, now or once the saga has come there.
   * @throws SagaNotFoundError
   * @throws SagaStateError when somebody has decided already, or the saga has ended
   * @throws SagaValidationError when the step is no approval, or nobody is said to decide
   */
  async approve(target: SagaTarget, step: string, decision: Decision): Promise<void> {
    await this.decideOn('approve', target, step, decision);
  }

  /**
   * Rejects what an `@Approval` step asks for: its method is not called, and the saga turns back.
   * @throws as approve()
   */
  async reject(target: SagaTarget, step: string, decision: Decision): Promise<void> {
    await this.decideOn('reject', target, step, decision);
  }

  private async decideOn(
    call: 'approve' | 'reject',
    target: SagaTarget,
    step: string,
    given: Decision,
  ): Promise<void> {
    checkStep(call, step);
    const { by, comment } = readDecision(call, given);
    await this.operate(
      target,
      call,
      { by, reason: comment },
      (saga, graph, now, { id: messageId }) => {
        const at = new Date(now).toISOString();
        const decision = { approved: call === 'approve', by, ...(comment !== undefined && { comment }), at };
        return decisionEdit(saga, graph, { step, decision, messageId });
      },
      { step },
    );
  }

  /**
   * Lets a stuck saga try again what gave up, with a full budget of attempts.
   * @param options.step only this one of several; `options.input`: goes on with another input
   * @throws SagaStateError when it is not stuck, or not at this step
   */
  async retry(target: SagaTarget, options?: OperatorOptions & RetryOptions): Promise<void> {
    const { options: resolved } = await this.runtime.ready();
    const { own, ...given } = readOperatorOptions<RetryOptions>('retry', options, ['input', 'step']);
    const { step } = own;
    if (step !== undefined) checkStep('retry', step);
    const input =
      'input' in own ? { text: encodePayload(own.input, 'input', resolved.maxPayloadBytes) } : undefined;
    const edit: Change = (saga, graph, now) => retryEdit(saga, graph, now, { step, input });
    return this.operate(target, 'retry', given, edit, {
      ...{ step, newInput: input && true, given: input?.text },
    });
  }

  /**
   * Takes the step that a stuck saga stands at as done by hand: with its result if the saga goes forward, as
   * undone if it turns back.
   * @throws SagaStateError when the saga is not stuck, or not at this step
   */
  async skip(target: SagaTarget, step: string, options?: OperatorOptions & SkipOptions): Promise<void> {
    const { options: resolved } = await this.runtime.ready();
    checkStep('skip', step);
    const { own, ...given } = readOperatorOptions<SkipOptions>('skip', options, ['result']);
    const result = encodePayload(own.result, `result of step '${step}'`, resolved.maxPayloadBytes);
    const edit: Change = (saga, graph, now) => skipEdit(saga, graph, now, { step, result });
    return this.operate(target, 'skip', given, edit, { step, given: result });
  }

  /**
   * What operators did to a saga, and the signals that it was sent: the latest 1,000, oldest first.
   * @throws SagaNotFoundError
   */
  async history(target: SagaTarget): Promise<HistoryEntry[]> {
    const { engine, registry } = await this.runtime.ready();
    const records = await engine.history(this.toTarget(target, registry), LONGEST_HISTORY);
    if (!records) throw notFound(target);
    return records.map(toHistoryEntry);
  }

  /** What there is to do, over all applications of this database. Costs a look at each saga that is due or held. */
  async stats(): Promise<SagaStats> {
    const { engine } = await this.runtime.ready();
    return toSagaStats(await engine.stats());
  }

  /**
   * The compensations that turning back would run from here, in order, with what they would be given, those of sagas
   * that its steps started included. Runs nothing.
   * @throws SagaNotFoundError
   * @throws SagaDefinitionError when this application does not have the saga in this version
   */
  async previewRollback(target: SagaTarget): Promise<RollbackPlan> {
    const running = await this.runtime.ready();
    const { engine, registry } = running;
    const saga = await engine.load(this.toTarget(target, registry));
    if (!saga) throw notFound(target);
    const graph = (await engine.graphOf(saga)) ?? (await handlerGraphOf(saga, running));
    if (graph) return toRollbackPlan(graph, saga, (id) => this.previewRollback(id));
    throw new SagaDefinitionError(
      `Saga ${saga.id} is a ${sagaLabel(saga)}, which is not a saga of this application: its compensations are not known ` +
        `here. Make the call in a process that has it.`,
    );
  }

  /**
   * Deletes sagas that have ended, oldest first, with those that they started and all that belongs to them: what their
   * `retention` lets go, or what ended before `olderThan`. One of which a sub-saga has not ended yet stays. Small
   * transactions, which hold up nobody. The correlation ids of what is deleted may be used again.
   * @throws SagaValidationError for wrong options, or when nothing says how old is old
   */
  async cleanup(options?: CleanupOptions): Promise<CleanupResult> {
    return (await this.runtime.ready()).cleanup.cleanup(options);
  }

  /** @param isUncommitted the transaction that started it is open */
  private handle<S>(
    id: string,
    created: boolean,
    { engine }: Running,
    isUncommitted?: () => boolean,
  ): SagaHandle<S> {
    return {
      id,
      created,
      outcome: async (options) =>
        toOutcome<S>(await engine.waiters.wait(id, readTimeout('outcome', options), isUncommitted)),
    };
  }

  /** An operator's call: what it does, kept in the saga's history with it. */
  private async operate(
    target: SagaTarget,
    action: OperatorAction,
    given: OperatorOptions | undefined,
    change: Change,
    about: Pick<OperatorCall, 'step' | 'newInput' | 'given'> = {},
  ): Promise<void> {
    const options = readOperatorOptions(action, given);
    const {
      engine,
      registry,
      options: { approvals },
    } = await this.runtime.ready();
    const call: OperatorCall = { ...options, ...about, action, id: newId(), needed: approvals[action] ?? 1 };
    checkNamed(call);
    let pending: number | undefined;
    const edited = await engine.edit(this.toTarget(target, registry), (saga, graph, now) => {
      const made = operated(saga, call, () => change(saga, graph, now, call));
      pending = made.pending;
      return made.edit;
    });
    if (!edited) throw notFound(target);
    if (pending !== undefined) throw approvalPending(edited.id, call, pending);
  }

  private toTarget(target: SagaTarget, registry: Running['registry']): StoreTarget {
    if (typeof target === 'string') {
      if (!isUuid(target)) throw notFound(target);
      return { id: target.toLowerCase() };
    }
    const { saga, correlationId } = readOptions('target', target, ['saga', 'correlationId']);
    if (saga === undefined || typeof correlationId !== 'string') {
      throw new SagaValidationError(
        `target is ${shown(target)}; give a saga's id, or { saga, correlationId }.`,
      );
    }
    const name = registry.nameOf(saga);
    if (!isKey(correlationId) || !isKey(name)) throw notFound({ saga: name, correlationId });
    return { name, correlationId };
  }
}

function checkSame(start: Omit<NewSaga, 'leased'>, existing: ExistingSaga): void {
  if (existing.unreadable) throw existing.unreadable;
  const difference =
    existing.name !== start.name
      ? `it is a '${existing.name}'`
      : start.correlationId !== undefined && existing.correlationId !== start.correlationId
        ? `its correlation id is '${existing.correlationId ?? existing.id}'`
        : samePayload(existing.input, start.input)
          ? undefined
          : 'it was started with another input';
  if (difference === undefined) return;
  const key = existing.id === start.id ? `id ${start.id}` : `correlation id '${start.correlationId}'`;
  throw new SagaConflictError(
    `A saga with ${key} exists (${existing.id}), and ${difference}. Use another key for another saga.`,
    existing.id,
  );
}

function notFound(target: SagaTarget): SagaNotFoundError {
  if (typeof target === 'string') return new SagaNotFoundError(`No saga has the id ${shown(target)}.`);
  const name = typeof target.saga === 'string' ? shown(target.saga) : target.saga.name;
  return new SagaNotFoundError(`No saga of ${name} has the correlation id ${shown(target.correlationId)}.`);
}

function approvalPending(id: string, { action, needed }: OperatorCall, approvals: number) {
  return new SagaApprovalPendingError(
    `${action}() of saga ${id} is recorded but not executed yet: ${approvals} of ${needed} operators have approved it. ` +
      `It is executed when enough other operators make the same call with the same arguments before the saga changes.`,
    approvals,
    needed,
  );
}

function readTimeout(call: string, options: { timeout?: Duration } | undefined): number | undefined {
  const { timeout } = readOptions(`${call}(): options`, options, ['timeout']);
  return timeout === undefined ? undefined : toMilliseconds(timeout, 'timeout', LONGEST_TIMER);
}

function checkStep(call: string, step: unknown): void {
  if (isKey(step)) return;
  throw new SagaValidationError(`${call}(): step is ${shown(step)}; give the name of a step.`);
}
