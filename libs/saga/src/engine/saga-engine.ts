import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { inOwnContext, OwnContext } from '../shared/own-context.js';
import type { EngineOptions } from './engine-options.js';
import { buildParts, type EngineParts } from './engine-parts.js';
import type { SagaObservers } from './observe/saga-observers.js';
import type { StepPauses } from './pause/step-pauses.js';
import type { EngineLog } from './ports/engine-log.js';
import type { RunnableSaga } from './ports/invoker.js';
import type { SagaDefinitions } from './ports/saga-definitions.js';
import type {
  HistoryRecord,
  SagaStore,
  SignalResult,
  StartResult,
  StoredSummary,
  StoreFilter,
  StoreStats,
  StoreTarget,
} from './ports/saga-store.js';
import type { StepOfSaga, StoredStepPause, WhoAndWhy } from './ports/step-pause.js';
import type { SentSignal, StoredSaga } from './ports/stored-saga.js';
import type { ChangeSchedule, ScheduleEdited, StoredSchedule } from './ports/stored-schedule.js';
import type { StoredTask, StoreTaskFilter } from './ports/stored-task.js';
import type { Wakeup } from './ports/wakeup.js';
import type { ScheduledGraph } from './schedule/schedule-ticker.js';
import { type Revised, SagaBindings } from './versions/saga-bindings.js';
import type { OutcomeWaiters } from './worker/outcome-waiters.js';
import type { SagaWatchers } from './worker/saga-watchers.js';
import type { SubmittedSaga } from './worker/submissions.js';
import type { ChangeSaga } from './write/saga-edits.js';

/**
 * The engine of one process: stores new sagas, runs sagas that are due, and resolves the calls that wait for outcomes.
 * Everything outside comes through its ports: store, clock, wake-up, and the methods to invoke. It runs in the library's
 * own context: what a call waits for, and what runs because of it, has nothing of the context of the caller. In the context
 * of their callers are the beginning of a span, and statements in a caller's transaction.
 */
@OwnContext<SagaEngine>({
  ...{ submit: true, submitWithin: true, signalWithin: true },
  ...{ now: true, tick: true, announceDue: true },
})
export class SagaEngine {
  readonly waiters: OutcomeWaiters;
  readonly watchers: SagaWatchers;
  /** Receive what happens to sagas in this process, by its worker and by operators. */
  readonly observers: SagaObservers;
  /** The steps that operators have paused. */
  readonly pauses: StepPauses;
  private readonly parts: EngineParts;
  private started: Promise<void> | undefined;

  constructor(
    private readonly store: SagaStore,
    private readonly wakeup: Wakeup,
    /** The sagas that its worker runs. */
    sagas: readonly RunnableSaga[],
    private readonly definitions: SagaDefinitions,
    private readonly options: EngineOptions,
    log: EngineLog,
    /** What the instances of this application's sagas go by, those of sagas that are not run here included. */
    readonly bindings = new SagaBindings(sagas, async () => []),
  ) {
    this.parts = buildParts({ store, wakeup, definitions, bindings, log }, sagas, options);
    ({
      waiters: this.waiters,
      watchers: this.watchers,
      observers: this.observers,
      pauses: this.pauses,
    } = this.parts);
  }

  /**
   * Resolves once the worker has asked for what is due. One statement follows the other, on the connection that start-up has
   * opened: a saga that is started at once finds it, and its statements need not wait for new ones.
   */
  start(): Promise<void> {
    this.started ??= this.begin();
    return this.started;
  }

  private async begin(): Promise<void> {
    const { wakeups, worker, overdue, slots, schedules } = this.parts;
    await wakeups.start();
    await this.pauses.start();
    // If it fails, the first saga does what it would have done.
    await this.store.prepare?.().catch(() => undefined);
    await worker?.start();
    overdue.look();
    slots.start();
    schedules.start();
  }

  /** The scheduled poll. */
  tick(): void {
    this.parts.recovery?.look();
    this.parts.wakeups.tick();
  }

  /** Stores a saga and, if the worker has room, takes its lease with the same statement. */
  submit(saga: SubmittedSaga): Promise<StartResult> {
    const { submissions } = this.parts;
    return this.observers.start(saga, (traced) => inOwnContext(() => submissions.submit(traced)));
  }

  /** Announces a saga that may be due to the worker of this process and to other processes. */
  announceDue(): void {
    this.parts.wakeups.announceDue();
  }

  /** Stores a saga inside the caller's transaction. After the commit, the first free worker runs it. */
  submitWithin(transaction: unknown, saga: SubmittedSaga): Promise<StartResult> {
    const store = (traced: typeof saga) =>
      this.store.startWithin(transaction, { ...traced, leased: false }, this.parts.lease);
    return this.observers.start(saga, store);
  }

  /** Sends a signal to a saga. Concurrent calls share a statement. */
  async signal(target: StoreTarget, signal: SentSignal): Promise<SignalResult> {
    const result = await this.parts.writers.signal({ ...signal, target });
    // It may be due now, and there may be room here.
    if (result.outcome === 'kept') this.parts.worker?.claimSoon();
    return result;
  }

  /** Sends a signal inside the caller's transaction. After the commit, the first free worker runs the saga. */
  signalWithin(transaction: unknown, target: StoreTarget, signal: SentSignal): Promise<SignalResult> {
    return this.store.signalWithin(transaction, { ...signal, target }, this.definitions.awaitedSignals);
  }

  /** Applies an operator's change. Undefined: the saga does not exist. */
  edit(target: StoreTarget, change: ChangeSaga): Promise<StoredSaga | undefined> {
    return this.parts.edits.edit(target, (saga, graph, now) => {
      this.options.checkEdit?.(saga, graph);
      return change(saga, graph, now);
    });
  }

  /** Returns the graph of a saga. Undefined: this application does not have it. */
  graphOf(saga: Revised): Promise<SagaGraph | undefined> {
    return this.parts.edits.graphOf(saga);
  }

  load(target: StoreTarget): Promise<StoredSaga | undefined> {
    return this.parts.retry.run(() => this.store.load(target));
  }

  find(filter: StoreFilter): Promise<StoredSummary[]> {
    return this.parts.retry.run(() => this.store.find(filter));
  }

  tasks(filter: StoreTaskFilter): Promise<StoredTask[]> {
    return this.parts.retry.run(() => this.store.tasks(filter));
  }

  async allSchedules(): Promise<readonly StoredSchedule[]> {
    return (await this.parts.retry.run(() => this.store.schedules())).schedules;
  }

  editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined> {
    return this.parts.retry.run(() => this.store.editSchedule(saga, change));
  }

  /** Starts a saga by its schedule, now, and returns its id. @throws SagaStateError if `overlap` is 'skip', and one runs */
  async trigger(graph: ScheduledGraph): Promise<string> {
    const id = await this.parts.schedules.trigger(graph);
    this.parts.worker?.claimSoon();
    return id;
  }

  /** The steps that are paused, and so many of those that were, the latest first. */
  stepPauses(resumed: number): Promise<readonly StoredStepPause[]> {
    return this.pauses.all(resumed);
  }

  /** The pauses of the steps of a saga, as this process knows them. */
  pausesOf({ name }: Pick<StoredSaga, 'name'>): Promise<readonly StoredStepPause[]> {
    return this.pauses.ofSaga(name);
  }

  /** Nothing begins this step, in any process, until it is resumed. A paused step is unchanged. */
  pauseStep(step: StepOfSaga, who: WhoAndWhy): Promise<void> {
    return this.pauses.pause(step, who);
  }

  /** Resumes a step. The sagas that wait for it are due. A step that is not paused is unchanged. */
  resumeStep(step: StepOfSaga, who: WhoAndWhy): Promise<void> {
    return this.pauses.resume(step, who);
  }

  /** Undefined: no such saga. */
  async history(target: StoreTarget, limit: number): Promise<HistoryRecord[] | undefined> {
    const saga = await this.load(target);
    return saga && this.parts.retry.run(() => this.store.history(saga.id, limit));
  }

  stats(): Promise<StoreStats> {
    return this.parts.retry.run(() => this.store.stats());
  }

  /** Repeats a call to the same database as the engine repeats its own: during an outage, for 30 s. */
  retrying<T>(call: () => Promise<T>): Promise<T> {
    return this.parts.retry.run(call);
  }

  /** The database's time, as well as this process knows it. */
  now(): number {
    return this.parts.storeClock.now();
  }

  /**
   * Hands the sagas that it runs over to another engine. Resolves once no method of a saga is in progress, however long
   * that takes. Sagas can still be started, read and waited for.
   */
  async retire(): Promise<void> {
    const { worker, overdue, slots } = this.parts;
    const watches = this.startEnded().then(() => Promise.all([overdue.stop(), slots.stop()]));
    await Promise.all([worker?.retire(), watches]);
  }

  /** Drains, then closes. */
  async stop(): Promise<void> {
    await this.drain();
    await this.close();
  }

  /**
   * Stops running sagas. Afterwards no method of a saga is in progress, every lease is released, and no call waits for
   * a saga here. Sagas can still be started and read.
   */
  async drain(): Promise<void> {
    this.parts.worker?.close();
    await this.startEnded();
    const watches = [
      this.parts.overdue.stop(),
      this.parts.slots.stop(),
      this.parts.schedules.stop(),
      this.pauses.settled(),
    ];
    await Promise.all(watches);
    // Nothing that is being stored may take as long as an outage any more.
    this.parts.writers.hasten();
    await this.parts.worker?.drain();
    await this.parts.writers.closeCheckpoints();
    if (this.parts.worker?.gaveBack) this.wakeup.announceDue();
    await this.wakeup.stop();
    this.waiters.close();
    this.watchers.close();
  }

  /** A part that starts after it was stopped would go on for ever, so the start ends first. */
  private async startEnded(): Promise<void> {
    await this.started?.catch(() => undefined);
  }

  /** Resolves once everything that this process was given is stored, or has failed. */
  async close(): Promise<void> {
    await this.parts.writers.close();
    await this.wakeup.stop();
  }
}
