import type { EntityManager } from 'typeorm';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import type { Durability } from '../definition/options/saga-options.js';
import { SagaUnavailableError } from '../errors.js';
import { type Clock, sleep, systemClock } from '../shared/clock.js';
import type { EngineLog } from './ports/engine-log.js';
import { GroupWriter } from './write/group-writer.js';
import { ChildSagas } from './run/child-sagas.js';
import type { RunnableSaga } from './ports/invoker.js';
import { newId as newUuid } from '../shared/new-id.js';
import { RelaxedSagas } from './write/relaxed-sagas.js';
import type { MadeCheckpoint } from './write/made-checkpoint.js';
import { sizeOfSignal, sizeOfStart } from './ports/payload-size.js';
import { OverdueWatch } from './observe/overdue-watch.js';
import { OutcomeWaiters, type SettledSaga } from './worker/outcome-waiters.js';
import {
  type CheckpointResult,
  concernsOthers,
  type Edit,
  type HistoryRecord,
  type Lease,
  type NewSaga,
  type SagaStore,
  type SentSignal,
  type SignalResult,
  type StartResult,
  type StoredSaga,
  type StoredSummary,
  type StoreFilter,
  type StoreStats,
  type StoreTarget,
} from './ports/saga-store.js';
import { INITIAL } from '../machine/saga-state.js';
import type { SagaDefinitions } from './ports/saga-definitions.js';
import { SagaObservers } from './observe/saga-observers.js';
import { type Revised, SagaBindings, UnreadGraph } from './versions/saga-bindings.js';
import { StoreClock } from '../shared/store-clock.js';
import type { Wakeup, WakeupMessage } from './ports/wakeup.js';
import { Worker } from './worker/worker.js';
import { WritersByDurability } from './write/writers-by-durability.js';

export interface EngineOptions {
  /** The name of this process among those that hold leases. */
  readonly workerId: string;
  /** Undefined: this process starts and queries sagas but runs none. */
  readonly worker?: {
    /** Sagas advanced at once. */
    readonly concurrency: number;
    /** Milliseconds. */
    readonly shutdownTimeout: number;
    /** A saga that lost its worker this often, with nothing recorded in between, is stuck. */
    readonly maxTakeovers: number;
    /** See WorkerOptions. */
    readonly maxHeldBytes?: number;
    /** See WorkerOptions. */
    readonly longestWait?: number;
  };
  /** Milliseconds. */
  readonly lease: number;
  readonly maxPayloadBytes: number;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** 0 to 1; default: Math.random. */
  readonly random?: () => number;
  /** Makes the ids of sub-sagas and messages; default: UUIDv7. */
  readonly newId?: () => string;
  /** Default: none. */
  readonly observers?: SagaObservers;
}

/**
 * What goes into a statement, and how many of them go side by side. A statement has a price of its own (a tenth of the
 * process's time at 40 items each), so a second one is for what would make the first one large: with fewer items to a lane,
 * and with fewer lanes, fewer sagas are advanced. What a statement holds of payloads is bounded, for all of it is in memory
 * at once, here and in the server.
 */
const GROUPS = { lanes: 4, maxBatch: 500, itemsPerLane: 200, maxSize: 8 * 2 ** 20 } as const;

type Addressed = SentSignal & { readonly target: StoreTarget };

/** With hints arriving, the poll that is the guarantee against lost ones runs at every fifth tick only. */
const TICKS_BETWEEN_POLLS = 5;
/** How long (ms) a saga that is waited for may take to be taken up here, before its row is marked. */
const WATCH_MAX_WAIT_MS = 50;
/** How long (ms) start() and other calls try against transient database errors. */
const CALL_MAX_WAIT_MS = 30_000;

/**
 * The engine of one process: takes in new sagas, runs those that are due, and tells who waits. Knows the world
 * through its ports only: store, clock, wake-up, and the methods to invoke.
 */
export class SagaEngine {
  readonly waiters: OutcomeWaiters;
  /** Told what happens to sagas in this process, by its worker and by operators. */
  readonly observers: SagaObservers;
  private readonly clock: Clock;
  private readonly storeClock: StoreClock;
  private readonly starts: WritersByDurability<NewSaga, StartResult>;
  private readonly checkpoints: WritersByDurability<MadeCheckpoint, CheckpointResult>;
  /** Those that concern other sagas. */
  private readonly families: GroupWriter<MadeCheckpoint, CheckpointResult>;
  private readonly signals: GroupWriter<Addressed, SignalResult>;
  private readonly worker: Worker | undefined;
  private readonly lease: Lease;
  private readonly overdue: OverdueWatch;
  private readonly relaxed: RelaxedSagas;
  private ticks = 0;
  private outage = false;

  constructor(
    private readonly store: SagaStore,
    private readonly wakeup: Wakeup,
    /** Those that its worker runs. */
    sagas: readonly RunnableSaga[],
    definitions: SagaDefinitions,
    options: EngineOptions,
    private readonly log: EngineLog,
    /** What the instances of this application's sagas go by, those of sagas that are not run here included. */
    readonly bindings = new SagaBindings(sagas, async () => []),
  ) {
    this.lease = { worker: options.workerId, duration: options.lease };
    const {
      clock = systemClock,
      random = Math.random,
      newId = newUuid,
      observers = new SagaObservers(log),
    } = options;
    this.observers = observers;
    this.clock = clock;
    this.storeClock = new StoreClock(clock);
    const shared = {
      clock,
      random,
      isTransient: (error: unknown) => store.isTransient(error),
      onTransientError: (error: unknown) => this.outageBegan(error),
      ...GROUPS,
    };
    this.relaxed = new RelaxedSagas(bindings);
    this.starts = new WritersByDurability(
      (durability) =>
        new GroupWriter({
          ...shared,
          sizeOf: sizeOfStart,
          write: (batch: NewSaga[]) => this.reached(store.start(batch, this.lease, durability)),
          patience: CALL_MAX_WAIT_MS,
        }),
    );
    this.checkpoints = new WritersByDurability(
      (durability) =>
        new GroupWriter({
          ...shared,
          sizeOf: ({ size }) => size,
          write: (batch: MadeCheckpoint[]) => this.writeCheckpoints(batch, durability),
          patience: Infinity,
        }),
    );
    this.families = new GroupWriter({
      ...shared,
      maxBatch: 1,
      itemsPerLane: 1,
      write: (batch: MadeCheckpoint[]) => this.writeCheckpoints(batch),
      patience: Infinity,
    });
    this.signals = new GroupWriter({
      ...shared,
      sizeOf: sizeOfSignal,
      write: (batch: Addressed[]) => this.reached(store.signal(batch, definitions.awaitedSignals)),
      patience: CALL_MAX_WAIT_MS,
    });
    this.waiters = new OutcomeWaiters({
      store,
      runsHere: (id) => this.worker?.holds(id) ?? false,
      patience: options.worker ? WATCH_MAX_WAIT_MS : 0,
      clock,
    });
    // Who runs them reports them.
    const withSla = options.worker ? sagas.filter(({ graph }) => graph.sla !== undefined) : [];
    this.overdue = new OverdueWatch([...new Set(withSla.map(({ graph }) => graph.name))], {
      ...{ store, observers: this.observers, log },
      now: () => this.storeClock.now(),
    });
    this.worker =
      options.worker &&
      new Worker(sagas, { ...options, ...options.worker }, this.lease, {
        store: this.relaxed.watching(store),
        clock,
        storeClock: this.storeClock,
        random,
        newId,
        log,
        bindings,
        observers,
        load: async (claimed) => {
          await this.persistently(() => bindings.load(claimed));
          for (const saga of claimed) this.relaxed.took(saga);
        },
        checkpoint: (checkpoint) => this.checkpoint(checkpoint),
        reserve: (limit, attempts) => this.persistently(() => store.reserve(limit, attempts)),
        children: new ChildSagas({
          latest: (type) => definitions.latest(type),
          checked: (graph, input) => definitions.checked(graph, input),
          ended: (ids) => this.persistently(() => store.ended(ids)),
          edit: (target, change) => this.edit(target, change),
          now: () => this.storeClock.now(),
          newId,
        }),
        pendingSignals: (id) => this.persistently(() => store.pendingSignals(id)),
        onSettled: (saga) => {
          this.relaxed.left(saga.id);
          this.waiters.settled(saga);
        },
        onLeft: (id) => {
          this.relaxed.left(id);
          this.waiters.left(id);
        },
        announceDue: () => this.wakeup.announceDue(),
      });
  }

  async start(): Promise<void> {
    await this.wakeup.start((message) => this.hear(message));
    this.worker?.start();
  }

  /** The scheduled poll. */
  tick(): void {
    this.ticks += 1;
    if (this.wakeup.listening && this.ticks % TICKS_BETWEEN_POLLS !== 0) return;
    this.lookAround();
  }

  /** Stores a saga and, if there is room, runs it at once. */
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
      result = await this.starts.write(sent, this.relaxed.durabilityOf(saga));
    } catch (error) {
      if (leased) this.worker!.unreserve();
      throw error;
    }
    if (result.created) this.storeClock.observe(result.now);
    if (leased) {
      if (result.created && result.leased) this.relaxed.took(saga);
      this.worker!.runReserved(
        result.created && result.leased ? toStored(sent, this.lease, result.now) : undefined,
        sentAt,
      );
    } else if (result.created) {
      if (waits && this.worker?.runsHere(saga))
        this.worker.expect(saga.startAt ?? this.storeClock.now() + (saga.delay ?? 0));
      // Also of one that is due later: who learns of it learns when.
      else this.announceDue();
    }
    return result;
  }

  /** Something is due that this process may have room for, or another. */
  announceDue(): void {
    this.worker?.claimSoon();
    this.wakeup.announceDue();
  }

  /** Stores a saga inside the caller's transaction; it is run once that has committed, by whoever is first. */
  submitWithin(manager: EntityManager, saga: Omit<NewSaga, 'leased'>): Promise<StartResult> {
    const store = (traced: typeof saga) =>
      this.store.startWithin(manager, { ...traced, leased: false }, this.lease);
    return this.observers.start(saga, store);
  }

  /** Tells a saga something. Calls that come together share a statement. */
  async signal(target: StoreTarget, signal: SentSignal): Promise<SignalResult> {
    const result = await this.signals.write({ ...signal, target });
    // It may be due now, and there may be room here.
    if (result.outcome === 'kept') this.worker?.claimSoon();
    return result;
  }

  /** An operator's change; `graph` is the one that the saga goes by, undefined: this application does not have it. */
  async edit(
    target: StoreTarget,
    change: (saga: StoredSaga, graph: SagaGraph | undefined, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    let told: (() => void) | undefined;
    const edited = (saga: StoredSaga, now: number) => {
      const edit = change(saga, this.bindings.of(saga)?.graph, now);
      const after = edit && 'state' in edit ? edit.state : saga.state;
      told = () => this.observers.changed(saga, [saga.state, after], now, this.bindings.of(saga)?.graph);
      return edit;
    };
    for (;;) {
      try {
        const saga = await this.persistently(() => this.store.edit(target, edited));
        told?.();
        return saga;
      } catch (error) {
        if (!(error instanceof UnreadGraph)) throw error;
        await this.graphOf(error.saga);
      }
    }
  }

  /** The graph that a saga goes by; undefined: this application does not have it. */
  async graphOf(saga: Revised): Promise<SagaGraph | undefined> {
    await this.persistently(() => this.bindings.load([saga]));
    return this.bindings.of(saga)?.graph;
  }

  load(target: StoreTarget): Promise<StoredSaga | undefined> {
    return this.persistently(() => this.store.load(target));
  }

  find(filter: StoreFilter): Promise<StoredSummary[]> {
    return this.persistently(() => this.store.find(filter));
  }

  /** Undefined: no such saga. */
  async history(target: StoreTarget, limit: number): Promise<HistoryRecord[] | undefined> {
    const saga = await this.load(target);
    return saga && this.persistently(() => this.store.history(saga.id, limit));
  }

  stats(): Promise<StoreStats> {
    return this.persistently(() => this.store.stats());
  }

  /** The database's time, as well as this process knows it. */
  now(): number {
    return this.storeClock.now();
  }

  /** Drains and closes: both at once, where nothing has to come in between. */
  async stop(): Promise<void> {
    await this.drain();
    await this.close();
  }

  /**
   * Stops running sagas. Afterwards no method of a saga is in progress, every lease is given back, and nobody waits for a
   * saga here any more. Sagas can still be started and looked at.
   */
  async drain(): Promise<void> {
    this.worker?.close();
    await this.overdue.stop();
    // Nothing that is being stored may take as long as an outage any more.
    this.starts.hasten();
    this.signals.hasten();
    await this.worker?.drain();
    await Promise.all([this.checkpoints.close(), this.families.close()]);
    if (this.worker?.gaveBack) this.wakeup.announceDue();
    await this.wakeup.stop();
    this.waiters.close();
  }

  /** Resolves once everything that this process was given is stored, or has failed. */
  async close(): Promise<void> {
    await Promise.all([this.starts.close(), this.signals.close()]);
    await this.wakeup.stop();
  }

  private checkpoint(checkpoint: MadeCheckpoint): Promise<CheckpointResult> {
    if (this.relaxed.holds(checkpoint.id)) return this.checkpointRelaxed(checkpoint);
    return concernsOthers(checkpoint)
      ? this.checkpointFamily(checkpoint)
      : this.checkpoints.write(checkpoint, 'durable');
  }

  private async checkpointRelaxed(made: MadeCheckpoint): Promise<CheckpointResult> {
    const checkpoint = this.relaxed.marked(made);
    const durability = this.relaxed.durabilityOfCheckpoint(checkpoint);
    const result = await (concernsOthers(checkpoint)
      ? this.checkpointFamily(checkpoint)
      : this.checkpoints.write(checkpoint, durability));
    this.relaxed.stored(checkpoint, durability, result);
    return result;
  }

  private async checkpointFamily(checkpoint: MadeCheckpoint): Promise<CheckpointResult> {
    const result = await this.families.write(checkpoint);
    // What it started, or woke, may find room here.
    this.worker?.claimSoon();
    return result;
  }

  private writeCheckpoints(batch: MadeCheckpoint[], durability?: Durability): Promise<CheckpointResult[]> {
    this.observers.checkpointing(batch.length);
    return this.reached(this.store.checkpoint(batch, durability));
  }

  /** Finds out what hints would have told. */
  private lookAround(): void {
    this.worker?.claimSoon();
    if (this.waiters.waitsForOthers) this.waiters.poll();
    this.overdue.look();
  }

  private hear(message: WakeupMessage): void {
    if (message.type === 'due') this.worker?.claimSoon();
    else if (message.type === 'missed') this.lookAround();
    else if (message.type === 'look') this.worker?.look(message.id);
    else if (message.type === 'settled') this.waiters.left(message.id);
  }

  /** Tries again after transient database errors, for as long as a caller may be kept waiting. */
  private async persistently<T>(call: () => Promise<T>): Promise<T> {
    const until = this.clock.monotonic() + CALL_MAX_WAIT_MS;
    for (let wait = 20; ; wait = Math.min(2_000, wait * 2)) {
      try {
        return await this.reached(call());
      } catch (error) {
        if (!this.store.isTransient(error)) throw error;
        if (this.clock.monotonic() > until) {
          throw new SagaUnavailableError(`The database could not be reached: ${(error as Error).message}.`, {
            cause: error,
          });
        }
        this.outageBegan(error);
        await sleep(this.clock, wait);
      }
    }
  }

  private async reached<T>(written: Promise<T>): Promise<T> {
    const result = await written;
    if (this.outage) {
      this.outage = false;
      this.log.log('The database can be reached again');
    }
    return result;
  }

  private outageBegan(error: unknown): void {
    if (!this.outage) this.log.warn(`The database cannot be reached, retrying: ${(error as Error).message}`);
    this.outage = true;
  }
}

const NO_TIMES: StoredSaga['stepTimes'] = new Map();

/** A saga that was stored and leased by the same statement, as it would be read back. */
function toStored(saga: NewSaga, lease: Lease, now: number): StoredSaga {
  return {
    ...saga,
    state: saga.timeout === undefined ? INITIAL : { ...INITIAL, deadline: now + saga.timeout },
    epoch: 1,
    checkpoints: 0,
    lockedBy: lease.worker,
    takeovers: 0,
    losses: 0,
    createdAt: now,
    updatedAt: now,
    stepTimes: NO_TIMES,
  };
}

export type { SettledSaga };
