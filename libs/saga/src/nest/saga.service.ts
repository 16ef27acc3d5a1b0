import { Inject, Injectable, type Type } from '@nestjs/common';
import type { InputOf } from '../definition/types/contexts.js';
import { SagaStateError } from '../errors.js';
import { newSagaOf } from '../engine/operate/new-saga.js';
import { lockKeyOf } from '../engine/payload/start-keys.js';
import { encodePayload } from '../engine/payload/payload.js';
import type { OperatorOptions } from './calls/operator-options.js';
import { noShards } from './shards/shard-calls.js';
import { findPage, listOn, type Page, type SagaFilter } from './calls/saga-filter.js';
import { type SagaUpdates, watchSaga } from './calls/saga-watch.js';
import { type TaskFilter, tasksPage } from './calls/tasks-page.js';
import { tagsWith } from './ambient.js';
import type { ServiceRuntime } from './assemble-engine.js';
import { SagaRuntime } from './saga.runtime.js';
import { newId } from '../shared/new-id.js';
import { withoutContext } from '../shared/own-context.js';
import { TURN_BUDGET } from '../shared/turn-budget.js';
import { type Decision, readSignal, type SignalOptions, UnawaitedSignalError } from './calls/signals.js';
import { type StartOptions, toStartFields } from './calls/start-options.js';
import {
  type CancelOptions,
  checkSame,
  lockConflict,
  notFound,
  type OutcomeOptions,
  readTimeout,
  type SagaHandle,
  type SagaTarget,
  toTarget,
} from './calls/saga-calls.js';
import type { ApprovalTask } from './views/approval-task.js';
import { snapshotOf } from './views/read-snapshot.js';
import type { SagaOutcome, SagaSnapshotOf, SagaSummary } from './views/saga-snapshot.js';
import { operate } from './calls/operate.js';
import { loadSaga } from './calls/load-saga.js';
import { sagaHandle } from './calls/saga-handle.js';

/** Starts sagas, reads them, waits for them, sends them signals, and decides on their approvals. */
@Injectable()
export class SagaService {
  /** @hidden */
  constructor(@Inject(SagaRuntime) private readonly runtime: ServiceRuntime) {}

  /**
   * Starts a saga. When the promise resolves, the saga is stored and runs even if this process dies. Concurrent calls
   * share round trips to the database.
   *
   * A name starts the highest version of a saga: a declared saga, for example. `S` then types its input and its results:
   * an interface with a method for each step. Default: both are untyped.
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
  async start<S = unknown>(
    saga: Type<S> | string,
    input: NoInfer<InputOf<S>>,
    options?: StartOptions,
  ): Promise<SagaHandle<S>> {
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
    const lockKey = graph.lockKey && (await lockKeyOf(graph, text, tags));
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
    return sagaHandle(created ? start.id : result.existing.id, created, engine, isUncommitted);
  }

  /**
   * Returns a saga. With the saga's class in the target, or as in `get<PlaceOrderSaga>(id)`, the input and the results
   * have the types of that class.
   * @throws SagaNotFoundError if the saga does not exist
   * @throws SagaCodecError if this process cannot decode the stored values
   */
  async get<S = unknown>(target: SagaTarget<S>): Promise<SagaSnapshotOf<S>> {
    const { saga, parts } = await loadSaga(this.runtime, target);
    return (await snapshotOf(saga, parts)) as SagaSnapshotOf<S>;
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
    return sagaHandle<S>(id, false, running.engine).outcome({ timeout });
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
    return watchSaga<S>(() => loadSaga(this.runtime, target));
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
    await operate(this.runtime, 'approve', target, decision, { step });
  }

  /**
   * Rejects an `@Approval` step: its method is not called, and the saga compensates.
   * @throws the same errors as approve()
   */
  async reject(target: SagaTarget, step: string, decision: Decision): Promise<void> {
    await operate(this.runtime, 'reject', target, decision, { step });
  }

  /**
   * Stops the saga and compensates its completed steps. `ctx.signal` of a running step aborts. If the step still
   * completes, it is compensated as well. A saga that already compensates to its end is unchanged, and its history has the
   * call.
   * @throws SagaStateError if the saga has ended, is stuck while it compensates, or has passed a pivot. Also while the
   * outcome of a pivot is not known (an attempt is in progress, or may have taken effect): the message names the pivot;
   * repeat the call later. Also if the step of `unlessBegun` has begun, or may have
   * @throws SagaValidationError if the saga has no step of the name in `unlessBegun`
   */
  async cancel(target: SagaTarget, options?: OperatorOptions & CancelOptions): Promise<void> {
    await operate(this.runtime, 'cancel', target, options);
  }
}
