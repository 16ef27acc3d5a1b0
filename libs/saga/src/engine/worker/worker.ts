import { nodeOf, type SagaGraph, sagaLabel } from '../../definition/graph/saga-graph.js';
import { isLostAttempt } from '../../machine/predicates.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { AttemptRunner } from '../attempt/attempt-runner.js';
import type { ChildSagas } from '../run/child-sagas.js';
import { Claimer, type ClaimingWorker } from './claimer.js';
import type { Clock, Timer } from '../../shared/clock.js';
import { concurrencyLimits } from '../ports/concurrency-limits.js';
import { type EngineLog, subjectOf } from '../ports/engine-log.js';
import type { RunnableSaga } from '../ports/invoker.js';
import { LeaseKeeper } from './lease-keeper.js';
import { SettledSaga } from './outcome-waiters.js';
import { SMALL_SAGA } from '../ports/payload-size.js';
import { PermitLead } from '../run/permit-lead.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import { UnreadableChild } from '../run/run-children.js';
import { SagaRun } from '../run/saga-run.js';
import type { RunEnd, SagaRunPorts } from '../run/saga-run-ports.js';
import type { SagaWriters } from '../write/saga-writers.js';
import type { StoreRetry } from '../write/store-retry.js';
import type { Wakeup } from '../ports/wakeup.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { Lease, StoredSaga } from '../ports/stored-saga.js';
import { lostLeasesOf } from '../run/live-state.js';
import { missingCode } from '../../machine/missing-code.js';
import { type BoundSaga, DRIFT_MEND, type SagaBindings } from '../versions/saga-bindings.js';
import { SlotMap } from '../../shared/slot-map.js';
import { deadlocked } from './lock-deadlock.js';
import { serializeError } from '../payload/serialize-error.js';
import type { StoreClock } from '../../shared/store-clock.js';

export interface WorkerOptions {
  /** Sagas advanced at once. */
  readonly concurrency: number;
  /** Milliseconds. */
  readonly shutdownTimeout: number;
  /** A saga that lost its worker this often, with nothing recorded in between, is stuck. */
  readonly maxTakeovers: number;
  readonly maxPayloadBytes: number;
  /** Bytes of large sagas held at once; a larger one runs alone. Default: 128 MB, or an eighth of the heap if that is less. */
  readonly maxHeldBytes?: number;
  /** Timers are not set further ahead than this (ms); the poll covers the rest. Default: a minute. */
  readonly longestWait?: number;
}

/** Learns what becomes of the sagas that a worker runs. */
export interface RunListener {
  settled(saga: SettledSaga): void;
  /** The saga does not run here any more, and is not settled. */
  left(id: string): void;
}

export interface WorkerPorts {
  readonly store: SagaStore;
  readonly retry: StoreRetry;
  readonly writers: SagaWriters;
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  readonly random: () => number;
  /** A UUID. */
  readonly newId: () => string;
  readonly log: EngineLog;
  readonly bindings: SagaBindings;
  readonly children: ChildSagas;
  readonly observers: SagaObservers;
  readonly listener: RunListener;
  /** Announces what may be due for other processes, if this worker has no room for it. */
  readonly wakeup: Pick<Wakeup, 'announceDue'>;
}

/** After an abort at shutdown, attempts get this long (ms) to settle before they are recorded as unknown. */
const ABORT_GRACE = 250;
/** Claims due sagas, runs them, and gives them back. Bounded by its concurrency. */
export class Worker implements ClaimingWorker {
  private readonly sagas: ReadonlyMap<string, RunnableSaga>;
  /** The `concurrency` of the names that have one. */
  private readonly limits: ReadonlyMap<string, number>;
  private readonly runs = new SlotMap<string, SagaRun>();
  /** Runs that have not ended, and who waits until all have. */
  private under = 0;
  private readonly idle: (() => void)[] = [];
  /** Who waits until no saga is being stored with a lease. */
  private readonly unreserved: (() => void)[] = [];
  private readonly leases: LeaseKeeper;
  /** The same for every run. */
  private readonly runPorts: SagaRunPorts;
  private reserved = 0;
  private state: 'new' | 'running' | 'draining' = 'new';
  private readonly claimer: Claimer;
  /** At shutdown, sagas were given back that others can go on with. */
  gaveBack = false;

  constructor(
    sagas: readonly RunnableSaga[],
    private readonly options: WorkerOptions,
    private readonly lease: Lease,
    private readonly ports: WorkerPorts,
  ) {
    this.sagas = new Map(sagas.map((saga) => [sagaLabel(saga.graph), saga]));
    this.limits = concurrencyLimits(sagas.map(({ graph }) => graph));
    this.leases = new LeaseKeeper(this.runs, lease, ports);
    const claimed = sagas.map(({ graph: { name, version } }) => {
      return { name, version, concurrency: this.limits.get(name) };
    });
    this.claimer = new Claimer(this, claimed, options, lease, ports);
    const { maxPayloadBytes } = options;
    const { store, writers, retry } = ports;
    const now = () => ports.storeClock.now();
    this.runPorts = {
      ...ports,
      store: {
        transact: (work) => writers.transact(work),
        edit: (target, change) => store.edit(target, change),
        isTransient: (error) => store.isTransient(error),
      },
      checkpoint: (checkpoint) => writers.checkpoint(checkpoint),
      reserve: (limit, attempts) => retry.run(() => store.reserve(limit, attempts)),
      pendingSignals: (id) => retry.run(() => store.pendingSignals(id)),
      claimSoon: () => this.claimSoon(),
      attempts: new AttemptRunner({ ...ports, maxPayloadBytes, now }),
      now,
      maxPayloadBytes,
      permits: new PermitLead(),
      lease: lease.duration,
      hasRoom: (name) => !this.claimer.mayHaveBacklog && !this.limits.has(name),
      renew: (run, longer) => this.leases.renew([run], longer),
      asked: (run) => this.leases.askedOf(run),
    };
  }

  start(): void {
    this.state = 'running';
    this.leases.start();
    this.claimSoon();
  }

  holds(id: string): boolean {
    return this.runs.has(id);
  }

  /** Does this worker have this saga in this version? */
  runsHere(saga: { readonly name: string; readonly version: number }): boolean {
    return this.sagas.has(sagaLabel(saga));
  }

  /** Room for a saga that is about to be stored? */
  reserve(saga: { readonly name: string; readonly version: number }): boolean {
    if (this.state !== 'running' || this.free <= 0 || !this.runsHere(saga)) return false;
    // What is due already goes first: a new saga takes its place in the queue.
    if (this.claimer.hasBacklog) return false;
    // Only a claim knows how many there are.
    if (this.limits.has(saga.name)) return false;
    this.reserved += 1;
    return true;
  }

  unreserve(): void {
    this.reserved -= 1;
    this.claimer.claimIfRoom();
    this.tellIfUnreserved();
  }

  /**
   * Runs a saga that room was reserved for; undefined: it was not stored, so there is none.
   * @param leasedAt monotonic time, not after its lease began
   */
  runReserved(saga: StoredSaga | undefined, leasedAt: number): void {
    this.reserved -= 1;
    if (saga) this.run(saga, leasedAt);
    else this.claimer.claimIfRoom();
    this.tellIfUnreserved();
  }

  private tellIfUnreserved(): void {
    if (this.state === 'draining' && this.reserved === 0)
      for (const tell of this.unreserved.splice(0)) tell();
  }

  claimSoon(): void {
    this.claimer.claimSoon();
  }

  /** A saga will be due at this time. */
  expect(dueAt: number): void {
    this.claimer.expect(dueAt);
  }

  /** Something was asked of a saga that may be running here. */
  look(id: string): void {
    const run = this.runs.get(id);
    if (!run) return;
    void this.leases.renew([run]);
    run.look();
  }

  /** Begins nothing more. */
  close(): void {
    this.state = 'draining';
    this.claimer.stop();
    for (const run of this.runs.values()) run.drain();
  }

  /** After `close`: lets attempts settle for `shutdownTimeout`, and gives every lease back. */
  async drain(): Promise<void> {
    await this.claimer.settled();
    // What is being stored with a lease comes here yet, to be given back.
    if (this.reserved > 0) await new Promise<void>((resolve) => this.unreserved.push(resolve));
    await this.endedWithin(this.options.shutdownTimeout);
    if (this.runs.size > 0) {
      this.ports.log.warn(
        `${this.runs.size} saga(s) still have running steps after shutdownTimeout. Their attempts are aborted`,
      );
      for (const run of this.runs.values()) run.abortForShutdown();
      await this.endedWithin(ABORT_GRACE);
      for (const run of this.runs.values()) run.interrupt();
      await this.endedWithin(this.options.shutdownTimeout + ABORT_GRACE);
    }
    this.leases.stop();
  }

  get isRunning(): boolean {
    return this.state === 'running';
  }

  get free(): number {
    return this.options.concurrency - this.runs.size - this.reserved;
  }

  get running(): number {
    return this.runs.size;
  }

  /** Bytes of the large sagas that run here. */
  get heldBytes(): number {
    let held = 0;
    for (const { checkpoints } of this.runs.values())
      if (checkpoints.bytes > SMALL_SAGA) held += checkpoints.bytes;
    return held;
  }

  async reserveFor<T>(count: number, work: () => Promise<T>): Promise<T> {
    this.reserved += count;
    try {
      return await work();
    } finally {
      this.reserved -= count;
    }
  }

  run(saga: StoredSaga, leasedAt: number): void {
    const bound = this.ports.bindings.of(saga)!;
    if (isUntouched(saga)) this.ports.observers.started(saga, this.ports.storeClock.now());
    const run = new SagaRun(saga, bound.graph, bound.invoke, this.runPorts, leasedAt);
    run.begin(this.before(saga, bound.graph));
    if (bound.gaps.size > 0) this.stopUnlessFit(run, bound);
    if (saga.pauseRequested) run.pause();
    // The lease ran out and was claimed again right here.
    this.runs.get(saga.id)?.fence();
    this.runs.set(saga.id, run);
    if (this.state === 'draining') run.drain();
    void this.advance(run);
  }

  private async advance(run: SagaRun): Promise<void> {
    const { saga } = run;
    this.under += 1;
    try {
      this.ran(run, await run.advance());
    } catch (error) {
      const left = this.leave(run);
      this.ports.log.error(
        `Saga ${run.id} (${sagaLabel(saga)}): ${serializeError(error).message}`,
        (error as Error).stack,
        subjectOf(saga),
      );
      if (error instanceof UnreadableChild) this.giveBack(run);
      if (left) this.left(run.id);
    }
    this.under -= 1;
    if (this.under === 0) for (const resolve of this.idle.splice(0)) resolve();
    if (this.limits.has(saga.name)) this.placeCameFree();
    if (run.checkpoints.bytes > SMALL_SAGA) this.claimer.largeOneEnded();
    this.claimer.claimIfRoom();
  }

  /** A place of a `concurrency`: a claim gives it on. If this worker cannot make one now, others may. */
  private placeCameFree(): void {
    this.claimer.claimAgain();
    if (this.state !== 'running' || this.free <= 0) this.ports.wakeup.announceDue();
  }

  /** What happened to a saga before it was claimed. */
  private before(saga: StoredSaga, graph: SagaGraph): SagaEvent[] {
    const events: SagaEvent[] = saga.deadlock ? [deadlocked(saga, saga.deadlock)] : [];
    // Of a fan-out, its items are what runs. What a probe is to be asked about was interrupted in good order.
    const interrupted = [...saga.state.steps].some(
      ([key, step]) =>
        step.status === 'running' && step.items === undefined && !isLostAttempt(nodeOf(graph, key), step),
    );
    if (saga.takeovers > 0 || interrupted) {
      const { takeovers: count, losses } = saga;
      const leases = lostLeasesOf(saga);
      const [bound, now] = [this.options.maxTakeovers, this.ports.storeClock.now()];
      events.push({ type: 'taken-over', count, losses, bound, leases, now });
    }
    if (saga.cancelRequested) {
      const { reason } = saga.cancelRequested;
      events.push({ type: 'cancelled', reason, accepted: true, now: this.ports.storeClock.now() });
    }
    return events;
  }

  /** One that may need what the class does not have is not run. */
  private stopUnlessFit(run: SagaRun, bound: BoundSaga): void {
    const missing = missingCode(bound, run.state);
    if (missing.length === 0) return;
    run.begin([{ type: 'code-missing', missing, fix: DRIFT_MEND, now: this.ports.storeClock.now() }]);
  }

  /** False: the saga was claimed here again, and its new run goes on. What is known of the saga is that run's. */
  private leave(run: SagaRun): boolean {
    const isCurrent = this.runs.get(run.id) === run || !this.runs.has(run.id);
    if (isCurrent) this.runs.delete(run.id);
    return isCurrent;
  }

  private ran(run: SagaRun, end: RunEnd): void {
    const left = this.leave(run);
    if (end.type === 'settled') {
      this.ports.writers.left(run.id);
      return this.ports.listener.settled(new SettledSaga(run.id, run.state));
    }
    if (end.type === 'fenced') {
      this.ports.observers.leaseLost(run.saga);
      this.ports.log.debug(`Saga ${run.id} is now run by another worker`, subjectOf(run.saga));
    } else if (end.dueAt !== undefined) this.expect(end.dueAt);
    if (this.state === 'draining') this.gaveBack = true;
    if (left) this.left(run.id);
  }

  private left(id: string): void {
    this.ports.writers.left(id);
    this.ports.listener.left(id);
  }

  /** For a process that can read what this one cannot; if it fails, the lease runs out. */
  private giveBack(run: SagaRun): void {
    void this.ports.store.giveBack([run], this.lease, this.lease.duration).catch(() => undefined);
  }

  private async endedWithin(timeout: number): Promise<void> {
    let timer: Timer | undefined;
    const over = new Promise<void>((resolve) => (timer = this.ports.clock.after(timeout, resolve)));
    const ended = new Promise<void>((resolve) => (this.under === 0 ? resolve() : this.idle.push(resolve)));
    await Promise.race([ended, over]);
    this.ports.clock.cancel(timer);
  }
}

/** No worker has begun with it, as far as is recorded. */
function isUntouched({ state, checkpoints, takeovers }: StoredSaga): boolean {
  return checkpoints === 0 && takeovers === 0 && state.status === 'running' && state.steps.size === 0;
}
