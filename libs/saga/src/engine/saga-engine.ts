import type { MethodContext } from './ports/method-context.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { type Clock, systemClock } from '../shared/clock.js';
import { newId as newUuid } from '../shared/new-id.js';
import { StoreClock } from '../shared/store-clock.js';
import { OverdueWatch } from './observe/overdue-watch.js';
import { SagaObservers } from './observe/saga-observers.js';
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
import type { Lease, NewSaga, SentSignal, StoredSaga } from './ports/stored-saga.js';
import type { Wakeup } from './ports/wakeup.js';
import { ChildSagas } from './run/child-sagas.js';
import { type Revised, SagaBindings } from './versions/saga-bindings.js';
import { WakeupHandler } from './wakeup-handler.js';
import { SagaSchedules, type ScheduledGraph } from './schedule/saga-schedules.js';
import type { ChangeSchedule, ScheduleEdited, StoredSchedule } from './ports/stored-schedule.js';
import { OutcomeWaiters } from './worker/outcome-waiters.js';
import { SagaWatchers } from './worker/saga-watchers.js';
import { startedSaga } from './worker/started-saga.js';
import { Worker } from './worker/worker.js';
import type { RunListener, WorkerOptions } from './worker/worker-ports.js';
import { type ChangeSaga, SagaEdits } from './write/saga-edits.js';
import { SagaWriters } from './write/saga-writers.js';
import type { RecoveryBounds } from './write/recent-sagas.js';
import { Recovery } from './write/recovery.js';
import { StoreRetry } from './write/store-retry.js';

export interface EngineOptions {
  /** The name of this process among those that hold leases. */
  readonly workerId: string;
  /** Undefined: this process starts and queries sagas but runs none. */
  readonly worker?: Omit<WorkerOptions, 'maxPayloadBytes'>;
  /** False: no schedule starts a saga by itself. Default: those of the sagas that the worker runs do. */
  readonly schedules?: boolean;
  /** Milliseconds. */
  readonly lease: number;
  readonly maxPayloadBytes: number;
  /** See SagaWatchersOptions. Default: 250 ms. */
  readonly watchInterval?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** 0 to 1; default: Math.random. */
  readonly random?: () => number;
  /** Makes the ids of sub-sagas and messages; default: UUIDv7. */
  readonly newId?: () => string;
  /** Default: none. */
  readonly observers?: SagaObservers;
  /** Calls methods of sagas. Default: they are called directly. */
  readonly within?: MethodContext;
  /** What is put back after a failover that lost commits. Default: nothing. */
  readonly recovery?: RecoveryBounds;
  /** Refuses an operator's change of a saga by throwing. Default: none is refused. */
  readonly checkEdit?: CheckEdit;
}

/** `graph` is undefined if this application does not have the graph of the saga. */
export type CheckEdit = (saga: StoredSaga, graph: SagaGraph | undefined) => void;

/** How long (ms) a saga that is waited for may take to be taken up here, before its row is marked. */
const WATCH_MAX_WAIT_MS = 50;

/** How often (ms) a saga that is watched, and runs elsewhere, is asked for while it changes. */
const WATCH_INTERVAL_MS = 250;

/**
 * The engine of one process: stores new sagas, runs sagas that are due, and resolves the calls that wait for outcomes.
 * Everything outside comes through its ports: store, clock, wake-up, and the methods to invoke.
 */
export class SagaEngine {
  readonly waiters: OutcomeWaiters;
  readonly watchers: SagaWatchers;
  /** Receive what happens to sagas in this process, by its worker and by operators. */
  readonly observers: SagaObservers;
  private readonly clock: Clock;
  private readonly storeClock: StoreClock;
  private readonly retry: StoreRetry;
  /** Undefined: nothing is put back after a failover. */
  private readonly recovery: Recovery | undefined;
  private readonly claims: boolean;
  private readonly writers: SagaWriters;
  private readonly edits: SagaEdits;
  private readonly worker: Worker | undefined;
  private readonly lease: Lease;
  private readonly overdue: OverdueWatch;
  private readonly wakeups: WakeupHandler;
  private readonly schedules: SagaSchedules;
  private readonly checkEdit: CheckEdit | undefined;

  constructor(
    private readonly store: SagaStore,
    private readonly wakeup: Wakeup,
    /** Those that its worker runs. */
    sagas: readonly RunnableSaga[],
    private readonly definitions: SagaDefinitions,
    options: EngineOptions,
    log: EngineLog,
    /** What the instances of this application's sagas go by, those of sagas that are not run here included. */
    readonly bindings = new SagaBindings(sagas, async () => []),
  ) {
    const { clock = systemClock, random = Math.random, newId = newUuid } = options;
    this.observers = options.observers ?? new SagaObservers(log);
    this.clock = clock;
    this.claims = options.worker !== undefined && sagas.length > 0;
    this.checkEdit = options.checkEdit;
    this.lease = { worker: options.workerId, duration: options.lease };
    this.storeClock = new StoreClock(clock);
    const { observers, lease, storeClock } = this;
    const ports = { store, bindings, observers, clock, storeClock, random, newId, log };
    const recovery =
      options.recovery &&
      new Recovery(options.recovery, {
        ...{ ...ports, lease },
        runsUnder: (id) => this.worker?.epochOf(id),
        look: (id) => this.worker?.look(id),
      });
    this.recovery = recovery;
    this.retry = new StoreRetry({ store, clock, random, log, recovered: () => recovery?.ready() });
    const shared = { ...ports, retry: this.retry, recovery };
    this.writers = new SagaWriters({ ...shared, lease, definitions });
    this.edits = new SagaEdits(shared);
    this.waiters = new OutcomeWaiters({
      store: {
        watch: (ids) => store.watch(ids),
        missing: async (ids) => (recovery?.isRecent ? [] : store.missing(ids)),
      },
      clock,
      runsHere: (id) => this.worker?.holds(id) ?? false,
      patience: options.worker ? WATCH_MAX_WAIT_MS : 0,
    });
    this.watchers = new SagaWatchers({ store, clock, interval: options.watchInterval ?? WATCH_INTERVAL_MS });
    observers.hintTo((id) => this.watchers.hint(id));
    // Only the processes that run a saga report that it is overdue.
    this.overdue = new OverdueWatch(options.worker ? sagas.map(({ graph }) => graph) : [], shared);
    const isScheduling = options.worker !== undefined && options.schedules !== false;
    const { maxPayloadBytes } = options;
    this.schedules = new SagaSchedules(isScheduling ? sagas.map(({ graph }) => graph) : [], {
      ...{ ...shared, definitions, maxPayloadBytes },
    });
    const { writers, edits, waiters, overdue } = this;
    if (options.worker) {
      const children = new ChildSagas({ ...shared, definitions, edits });
      const listener: RunListener = {
        settled: (saga) => waiters.settled(saga),
        left: (id) => waiters.left(id),
        reported: (id) => this.watchers.hint(id),
      };
      const ports = { ...shared, writers, children, listener, wakeup };
      this.worker = new Worker(sagas, { ...options, ...options.worker }, lease, ports);
    }
    const { watchers } = this;
    this.wakeups = new WakeupHandler({ wakeup, worker: this.worker, waiters, watchers, overdue });
  }

  async start(): Promise<void> {
    await this.wakeups.start();
    this.worker?.start();
    this.schedules.start();
  }

  /** The scheduled poll. */
  tick(): void {
    this.recovery?.look(!this.claims);
    this.wakeups.tick();
  }

  /** Stores a saga and, if the worker has room, takes its lease with the same statement. */
  submit(saga: Omit<NewSaga, 'leased'>): Promise<StartResult> {
    return this.observers.start(saga, (traced) => this.takeIn(traced));
  }

  private async takeIn(saga: Omit<NewSaga, 'leased'>): Promise<StartResult> {
    const waits = saga.delay !== undefined || saga.startAt !== undefined;
    const mayLease = !waits && saga.lockKey === undefined;
    const leased = mayLease && (this.worker?.reserve(saga) ?? false);
    const sent = { ...saga, leased };
    const sentAt = this.clock.monotonic();
    let result: StartResult;
    try {
      result = await this.writers.start(sent);
    } catch (error) {
      if (leased) this.worker!.unreserve();
      throw error;
    }
    if (result.created) this.storeClock.observe(result.now);
    if (leased) {
      const run = result.created && result.leased ? startedSaga(sent, this.lease, result.now) : undefined;
      this.worker!.runReserved(run, sentAt);
    } else if (result.created) {
      if (waits && this.worker?.runsHere(saga))
        this.worker.expect(saga.startAt ?? this.storeClock.now() + (saga.delay ?? 0));
      // Also if it is due later: a claim returns when the next saga is due.
      else this.announceDue();
    }
    return result;
  }

  /** Announces a saga that may be due to the worker of this process and to other processes. */
  announceDue(): void {
    this.wakeups.announceDue();
  }

  /** Stores a saga inside the caller's transaction. After the commit, the first free worker runs it. */
  submitWithin(transaction: unknown, saga: Omit<NewSaga, 'leased'>): Promise<StartResult> {
    const store = (traced: typeof saga) =>
      this.store.startWithin(transaction, { ...traced, leased: false }, this.lease);
    return this.observers.start(saga, store);
  }

  /** Sends a signal to a saga. Concurrent calls share a statement. */
  async signal(target: StoreTarget, signal: SentSignal): Promise<SignalResult> {
    const result = await this.writers.signal({ ...signal, target });
    // It may be due now, and there may be room here.
    if (result.outcome === 'kept') this.worker?.claimSoon();
    return result;
  }

  /** Sends a signal inside the caller's transaction. After the commit, the first free worker runs the saga. */
  signalWithin(transaction: unknown, target: StoreTarget, signal: SentSignal): Promise<SignalResult> {
    return this.store.signalWithin(transaction, { ...signal, target }, this.definitions.awaitedSignals);
  }

  /** Applies an operator's change. Undefined: the saga does not exist. */
  edit(target: StoreTarget, change: ChangeSaga): Promise<StoredSaga | undefined> {
    return this.edits.edit(target, (saga, graph, now) => {
      this.checkEdit?.(saga, graph);
      return change(saga, graph, now);
    });
  }

  /** Returns the graph of a saga. Undefined: this application does not have it. */
  graphOf(saga: Revised): Promise<SagaGraph | undefined> {
    return this.edits.graphOf(saga);
  }

  load(target: StoreTarget): Promise<StoredSaga | undefined> {
    return this.retry.run(() => this.store.load(target));
  }

  find(filter: StoreFilter): Promise<StoredSummary[]> {
    return this.retry.run(() => this.store.find(filter));
  }

  async allSchedules(): Promise<readonly StoredSchedule[]> {
    return (await this.retry.run(() => this.store.schedules())).schedules;
  }

  editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined> {
    return this.retry.run(() => this.store.editSchedule(saga, change));
  }

  /** Starts a saga by its schedule, now, and returns its id. @throws SagaStateError if `overlap` is 'skip', and one runs */
  async trigger(graph: ScheduledGraph): Promise<string> {
    const id = await this.schedules.trigger(graph);
    this.worker?.claimSoon();
    return id;
  }

  /** Undefined: no such saga. */
  async history(target: StoreTarget, limit: number): Promise<HistoryRecord[] | undefined> {
    const saga = await this.load(target);
    return saga && this.retry.run(() => this.store.history(saga.id, limit));
  }

  stats(): Promise<StoreStats> {
    return this.retry.run(() => this.store.stats());
  }

  /** The database's time, as well as this process knows it. */
  now(): number {
    return this.storeClock.now();
  }

  /**
   * Hands the sagas that it runs over to another engine. Resolves once no method of a saga is in progress, however long
   * that takes. Sagas can still be started, read and waited for.
   */
  async retire(): Promise<void> {
    await this.overdue.stop();
    await this.worker?.retire();
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
    this.worker?.close();
    await Promise.all([this.overdue.stop(), this.schedules.stop()]);
    // Nothing that is being stored may take as long as an outage any more.
    this.writers.hasten();
    await this.worker?.drain();
    await this.writers.closeCheckpoints();
    if (this.worker?.gaveBack) this.wakeup.announceDue();
    await this.wakeup.stop();
    this.waiters.close();
    this.watchers.close();
  }

  /** Resolves once everything that this process was given is stored, or has failed. */
  async close(): Promise<void> {
    await this.writers.close();
    await this.wakeup.stop();
  }
}
