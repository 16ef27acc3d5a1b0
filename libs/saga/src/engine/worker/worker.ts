import { sagaLabel } from '../../definition/graph/saga-graph.js';
import { AttemptRunner } from '../attempt/attempt-runner.js';
import { Claimer, type ClaimingWorker } from './claimer.js';
import type { Timer } from '../../shared/clock.js';
import { type LeaseLimit, leaseLimits } from '../ports/lease-limits.js';
import { subjectOf } from '../ports/engine-log.js';
import type { RunnableSaga } from '../ports/invoker.js';
import { LeaseKeeper } from './lease-keeper.js';
import { SettledSaga } from './outcome-waiters.js';
import { SMALL_SAGA } from '../ports/payload-size.js';
import { UnreadableChild } from '../run/run-children.js';
import { SagaRun } from '../run/saga-run.js';
import type { LeasedRun, RunEnd, SagaRunPorts } from '../run/saga-run-ports.js';
import type { Lease, StoredSaga } from '../ports/stored-saga.js';
import { PendingCount } from '../../shared/pending-count.js';
import { SlotMap } from '../../shared/slot-map.js';
import { eventsBefore, stopUnlessFit } from './before-run.js';
import { isUntouched } from '../ports/live-state.js';
import { QueuedSaga, SagaQueue } from './saga-queue.js';
import { WorkerCapacity } from './worker-capacity.js';
import type { WorkerOptions, WorkerPorts } from './worker-ports.js';
import { serializeError } from '../payload/serialize-error.js';

/** After an abort at shutdown, attempts get this long (ms) to settle before they are recorded as unknown. */
const ABORT_GRACE = 250;
/** While all slots are taken, their number is adapted at this interval (ms). */
const ADAPT_INTERVAL = 100;
/** Characters of payloads of sagas that wait for a slot. */
const MOST_QUEUED = 32 * 2 ** 20;

/** Claims due sagas, runs them in its slots, and gives them back. */
export class Worker implements ClaimingWorker {
  private readonly sagas: ReadonlyMap<string, RunnableSaga>;
  /** The `limit` of the names that have one. */
  private readonly limits: ReadonlyMap<string, LeaseLimit>;
  private readonly runs = new SlotMap<string, SagaRun>();
  /** The sagas that wait for a slot. */
  private readonly queue = new SagaQueue();
  private readonly capacity: WorkerCapacity;
  private adapting: Timer | undefined;
  /** Runs that have not ended. */
  private readonly under = new PendingCount();
  /** Room that is set aside: for sagas that are being stored with a lease, and for a claim in progress. */
  private readonly reserved = new PendingCount();
  private readonly leases: LeaseKeeper;
  /** What each run of this worker calls. */
  private readonly runPorts: SagaRunPorts;
  private state: 'new' | 'running' | 'draining' = 'new';
  private isRetiring = false;
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
    this.limits = leaseLimits(sagas.map(({ graph }) => graph));
    const { clock } = ports;
    // What counts for a limit, and waits here, would keep another worker from running one that could begin.
    const ahead = this.limits.size > 0 ? 0 : options.ahead;
    this.capacity = new WorkerCapacity({ ...options, ahead, lease: lease.duration }, () => clock.monotonic());
    this.leases = new LeaseKeeper({ values: () => this.held() }, lease, ports);
    const claimed = sagas.map(({ graph: { name, version } }) => {
      const limit = this.limits.get(name);
      return { name, version, maxLeases: limit?.count, keyed: limit?.keyed };
    });
    this.claimer = new Claimer(this, claimed, options, lease, ports);
    this.runPorts = this.portsOfRuns();
  }

  private portsOfRuns(): SagaRunPorts {
    const { ports, claimer, leases, capacity, options } = this;
    const { store, writers, retry, log } = ports;
    const { maxPayloadBytes, within } = options;
    const now = () => ports.storeClock.now();
    // The run tries again. They are free once its lease is given back, and the next look of any worker calls the sagas that wait.
    const slotsKept = (error: unknown) => {
      log.warn(`Slots of a step could not be freed: ${serializeError(error).message}`);
      return false;
    };
    return {
      ...ports,
      transact: (work, held) => writers.transact(work, held),
      checkpoint: (checkpoint) => writers.checkpoint(checkpoint),
      answered: (duration) => capacity.answered(duration),
      reserve: (limit, attempts) => retry.run(() => store.reserve(limit, attempts)),
      takeSlots: (...asked) => retry.run(() => store.stepSlots.take(...asked)),
      freeSlots: (...freed) => retry.run(() => store.stepSlots.free(...freed)).then(() => true, slotsKept),
      pendingSignals: (id) => retry.run(() => store.pendingSignals(id)),
      claimSoon: () => claimer.claimSoon(),
      attempts: new AttemptRunner({ ...ports, maxPayloadBytes, now, within }),
      now,
      maxPayloadBytes,
      permits: { lead: 0 },
      lease: this.lease.duration,
      hasRoom: (name) => !claimer.mayHaveBacklog && this.queue.length === 0 && !this.limits.has(name),
      renew: (run, longer) => leases.renew([run], longer),
      asked: (run) => leases.askedOf(run),
      reportSoon: () => leases.reportSoon(),
    };
  }

  /** Resolves once the first claim has ended. One that was closed before does not start any more. */
  async start(): Promise<void> {
    if (this.state !== 'new') return;
    this.state = 'running';
    this.leases.start();
    await this.claim();
  }

  holds(id: string): boolean {
    return this.runs.has(id) || this.queue.get(id) !== undefined;
  }

  isInSlot(id: string): boolean {
    return this.runs.has(id);
  }

  /** What it runs, if no slot is free. Undefined: one is, or it begins nothing more. */
  get fullSlots(): Iterable<SagaRun> | undefined {
    return this.state === 'running' && !this.hasSlot ? this.runs.values() : undefined;
  }

  /** The epoch under which it runs a saga, or is about to. Undefined: it does not. */
  epochOf(id: string): number | undefined {
    const run = this.runs.get(id);
    if (run && !run.isFenced) return run.epoch;
    const queued = this.queue.get(id);
    return queued && !queued.isFenced ? queued.saga.epoch : undefined;
  }

  /** Does this worker have this saga in this version? */
  runsHere(saga: { readonly name: string; readonly version: number }): boolean {
    return this.sagas.has(sagaLabel(saga));
  }

  /** Room for a saga that is about to be stored? */
  reserve(saga: { readonly name: string; readonly version: number }): boolean {
    if (this.state !== 'running' || !this.runsHere(saga) || this.room <= 0) return false;
    if (!this.ports.pauses.isKnown) return false;
    // What is due already goes first: a new saga takes its place in the queue.
    if (this.claimer.hasBacklog) return false;
    // Only a claim knows how many there are.
    if (this.limits.has(saga.name)) return false;
    this.reserved.add();
    return true;
  }

  unreserve(): void {
    this.reserved.done();
    this.claimer.claimIfRoom();
  }

  /**
   * Runs a saga that room was reserved for; undefined: it was not stored, so there is none.
   * @param leasedAt monotonic time, not after its lease began
   */
  runReserved(saga: StoredSaga | undefined, leasedAt: number): void {
    this.reserved.done();
    if (saga) this.take(saga, leasedAt);
    else this.claimer.claimIfRoom();
  }

  claimSoon(): void {
    this.claimer.claimSoon();
  }

  /** Claims what is due. Resolves once the claim has ended that is in progress then. */
  async claim(): Promise<void> {
    this.claimSoon();
    await this.claimer.settled();
  }

  /** A saga will be due at this time. */
  expect(dueAt: number): void {
    this.claimer.expect(dueAt);
  }

  /** Other steps of the sagas of these names are paused than before. */
  decideAgain(sagas: ReadonlySet<string>): void {
    for (const run of this.runs.values()) if (sagas.has(run.saga.name)) run.decideAgain();
    this.claimSoon();
  }

  /** Something was asked of a saga that may be running here. */
  look(id: string): void {
    const run = this.runs.get(id);
    const queued = this.queue.get(id);
    if (run) run.look();
    if (queued) queued.isAsked = true;
    const held = queued ?? run;
    if (held) void this.leases.renew([held]);
  }

  /** Begins nothing more. */
  close(): void {
    this.state = 'draining';
    this.claimer.stop();
    this.ports.clock.cancel(this.adapting);
    for (const run of this.runs.values()) run.drain();
  }

  /** Gives back what it holds to another worker, each saga once its attempts have settled. `drain` ends the wait. */
  async retire(): Promise<void> {
    this.isRetiring = true;
    this.close();
    await this.taken();
    await Promise.all([this.under.none(), this.giveQueueBack()]);
  }

  /** After `close`: lets attempts settle for `shutdownTimeout`, and gives every lease back. */
  async drain(): Promise<void> {
    await this.taken();
    await Promise.all([this.endedWithin(this.options.shutdownTimeout), this.giveQueueBack()]);
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

  get room(): number {
    return this.size - this.holding - this.reserved.size;
  }

  get size(): number {
    const { slots, ahead } = this.capacity;
    return this.queue.size < MOST_QUEUED ? slots + ahead : slots;
  }

  get holding(): number {
    return this.runs.size + this.queue.length;
  }

  /** Bytes of the large sagas that it holds. */
  get heldBytes(): number {
    let held = this.queue.largeSize;
    for (const { checkpoints } of this.runs.values())
      if (checkpoints.bytes > SMALL_SAGA) held += checkpoints.bytes;
    return held;
  }

  async reserveFor<T>(count: number, work: () => Promise<T>): Promise<T> {
    this.reserved.add(count);
    try {
      return await work();
    } finally {
      this.reserved.done(count);
    }
  }

  renewEnded(): Promise<boolean> {
    return this.leases.renewEnded();
  }

  take(saga: StoredSaga, leasedAt: number): void {
    // The lease ran out and was claimed again right here.
    this.runs.get(saga.id)?.fence();
    const queued = new QueuedSaga(saga, leasedAt);
    if (this.hasSlot && this.queue.length === 0) this.begin(queued);
    else this.queue.put(queued);
    this.beginQueued();
  }

  private get hasSlot(): boolean {
    return this.state === 'running' && this.runs.size < this.capacity.slots;
  }

  /** Sagas that wait begin, as long as there are slots. While the worker is draining, they wait to be given back. */
  private beginQueued(): void {
    while (this.hasSlot) {
      const queued = this.queue.take();
      if (!queued) return this.capacity.free();
      if (queued.isFenced) this.leaveFenced(queued.saga);
      else this.begin(queued);
    }
    if (this.state === 'running') this.slotsAreTaken();
  }

  private begin({ saga, heldSince, leasedAt, isAsked }: QueuedSaga): void {
    const bound = this.ports.bindings.of(saga)!;
    const now = this.ports.storeClock.now();
    if (isUntouched(saga)) this.ports.observers.started(saga, now);
    const run = new SagaRun(saga, bound.graph, bound.invoke, this.runPorts, heldSince);
    run.leasedAt = leasedAt;
    run.begin(eventsBefore(saga, bound.graph, this.options.maxTakeovers, now));
    stopUnlessFit(run, bound, now);
    if (saga.pauseRequested) run.pause();
    this.runs.set(saga.id, run);
    if (isAsked) run.look();
    void this.advance(run);
  }

  private slotsAreTaken(): void {
    this.capacity.full();
    if (!this.capacity.adapts || this.adapting) return;
    this.adapting = this.ports.clock.after(ADAPT_INTERVAL, () => {
      this.adapting = undefined;
      if (!this.capacity.adapt()) return;
      this.beginQueued();
      this.claimer.claimIfRoom();
    });
    this.adapting.unref();
  }

  private async advance(run: SagaRun): Promise<void> {
    const { saga } = run;
    this.under.add();
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
      if (left) this.ports.listener.left(run.id);
    }
    this.under.done();
    if (this.limits.has(saga.name)) this.placeCameFree();
    if (run.checkpoints.bytes > SMALL_SAGA) this.claimer.largeOneEnded();
    this.capacity.ended();
    this.beginQueued();
    this.claimer.claimIfRoom();
  }

  /** A place of a `limit`: a claim gives it on. If this worker cannot make one now, others may. */
  private placeCameFree(): void {
    this.claimer.claimAgain();
    if (this.state !== 'running' || this.room <= 0) this.ports.wakeup.announceDue();
  }

  /** False: the saga was claimed here again, and its new run goes on. What is known of the saga is that run's. */
  private leave(run: SagaRun): boolean {
    if (this.runs.get(run.id) === run) this.runs.delete(run.id);
    return !this.holds(run.id);
  }

  private ran(run: SagaRun, end: RunEnd): void {
    const left = this.leave(run);
    if (end.type === 'settled') return this.ports.listener.settled(new SettledSaga(run.id, run.state));
    if (end.type === 'fenced') {
      this.reportLostLease(run.saga);
    } else if (end.dueAt !== undefined) this.expect(end.dueAt);
    if (this.state === 'draining') this.gaveBack = true;
    if (this.isRetiring) this.ports.wakeup.announceDue();
    if (left) this.ports.listener.left(run.id);
  }

  private leaveFenced(saga: StoredSaga): void {
    this.reportLostLease(saga);
    if (!this.holds(saga.id)) this.ports.listener.left(saga.id);
  }

  private reportLostLease(saga: StoredSaga): void {
    this.ports.observers.measure('leaseLost', saga);
    this.ports.log.debug(`Saga ${saga.id} is now run by another worker`, subjectOf(saga));
  }

  /** For a process that can read what this one cannot; if it fails, the lease runs out. */
  private giveBack(run: SagaRun): void {
    void this.ports.store.giveBack([run], this.lease, this.lease.duration).catch(() => undefined);
  }

  /** What waits for a slot is given to others. What cannot be given back within `shutdownTimeout` waits for its lease to end. */
  private async giveQueueBack(): Promise<void> {
    const queued = this.queue.clear();
    if (queued.length === 0) return;
    const { store, retry, log, wakeup } = this.ports;
    const given = retry
      .run(() => store.giveBack(queued, this.lease, 0))
      .then(
        // What still runs here may take a while.
        () => wakeup.announceDue(),
        (error: unknown) =>
          log.warn(
            `${queued.length} leased saga(s) could not be given back: ${serializeError(error).message}`,
          ),
      );
    await this.within(this.options.shutdownTimeout, given);
    for (const { id } of queued) this.ports.listener.left(id);
  }

  /** What is being claimed, or stored with a lease, comes here yet, to be given back. */
  private async taken(): Promise<void> {
    await this.claimer.settled();
    await this.reserved.none();
  }

  private endedWithin(timeout: number): Promise<void> {
    return this.within(timeout, this.under.none());
  }

  private async within(timeout: number, done: Promise<void>): Promise<void> {
    let timer: Timer | undefined;
    const over = new Promise<void>((resolve) => (timer = this.ports.clock.after(timeout, resolve)));
    await Promise.race([done, over]);
    this.ports.clock.cancel(timer);
  }

  /** What this worker has leased. */
  private *held(): Generator<LeasedRun, void> {
    yield* this.runs.values();
    yield* this.queue.values();
  }
}
