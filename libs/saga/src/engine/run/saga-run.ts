import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { evolve } from '../../machine/evolve.js';
import { holdPaused } from '../../machine/hold-paused.js';
import { isNearRetry } from '../../machine/near-retry.js';
import { relationsOf } from '../../machine/graph-relations.js';
import type { Action, MachineDecision } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { isSettled, type SagaState, stepState } from '../../machine/saga-state.js';
import { sleep } from '../../shared/clock.js';
import { NOTHING } from '../../shared/empty-array.js';
import { Mutex } from '../../shared/mutex.js';
import { inOwnContext } from '../../shared/own-context.js';
import { transientWait } from '../../shared/transient-wait.js';
import { cancellation, ENDED, isAtMostOnce, startOf } from '../attempt/attempt-events.js';
import type { ReportPlace } from '../attempt/attempt-reports.js';
import type { StepAttempt } from '../attempt/step-attempt.js';
import { type AttemptHost, isFailure, NotNow, type Staged } from '../attempt/transactional-attempt.js';
import { serializeError } from '../payload/serialize-error.js';
import { type CheckpointResult, concernsOthers } from '../ports/checkpoint.js';
import { logErrorOf, subjectOf } from '../ports/engine-log.js';
import type { Invoker } from '../ports/invoker.js';
import type { StepReport } from '../ports/step-reports.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { MadeCheckpoint } from '../write/made-checkpoint.js';
import { RunInbox } from './inbox.js';
import { type Outcome, RunAttempts, type RunMessage } from './run-attempts.js';
import { type CheckpointParts, RunCheckpoints } from './run-checkpoints.js';
import { RunChildren } from './run-children.js';
import { needsPermit, RunPermits } from './run-permits.js';
import { RunRecord } from './run-record.js';
import { type AttemptReport, RunReports } from './run-reports.js';
import { RunSignals } from './run-signals.js';
import { RunSlots } from './run-slots.js';
import type { LeasedRun, RunEnd, SagaRunPorts } from './saga-run-ports.js';

const SETTLED: RunEnd = { type: 'settled' };
const FENCED: RunEnd = { type: 'fenced' };

/** The share of a lease within which something may begin without asking: clocks differ, and a process may be stopped. */
export const SAFE_SHARE = 0.9;
/** How long (ms) a transaction waits for a checkpoint of its saga, which may be waiting for the connection that it holds. */
const STAGE_MAX_WAIT_MS = 2_000;

/**
 * Advances one saga while this worker holds its lease: decide, attempt, checkpoint, until it is idle, has to
 * wait, or is another's. One checkpoint after each step, none before, unless the step is at most once.
 */
export class SagaRun implements LeasedRun, AttemptHost {
  readonly record: RunRecord;
  readonly attempts: RunAttempts;
  readonly checkpoints: RunCheckpoints;
  private readonly inbox: RunInbox<RunMessage>;
  /** The rate limits. */
  private readonly permits: RunPermits;
  /** Undefined: none of its steps starts a saga. */
  private readonly children: RunChildren | undefined;
  /** Undefined: none of its steps waits for a signal. */
  private readonly signals: RunSignals | undefined;
  /** Undefined: none of its steps has a limit over all sagas. */
  private readonly slots: RunSlots | undefined;
  /** Undefined: none of its steps has reported anything. */
  reported: RunReports | undefined;
  /** Monotonic time of the request for the lease or for its last extension. Later if the extension was longer than usual. */
  leasedAt: number;
  /** The lease is another worker's. */
  isFenced = false;
  /** The cancellation of the saga was requested. */
  private cancelAsked = false;
  /** The state of the saga contains the cancellation. */
  private cancelSeen = false;
  /** The saga pauses once the attempts in progress have ended. */
  isPausing = false;
  /** The lease is given back once the attempts in progress have ended. */
  private isDraining = false;
  /** The checkpoints, those of transactional steps included, are written one at a time. */
  private readonly writing = new Mutex();

  constructor(
    readonly saga: StoredSaga,
    private readonly graph: SagaGraph,
    invoke: Invoker,
    private readonly ports: SagaRunPorts,
    readonly heldSince: number,
  ) {
    this.leasedAt = heldSince;
    this.inbox = new RunInbox(ports.clock);
    const { hasSubSagas, hasWaits, hasSlots } = relationsOf(graph);
    if (hasWaits) {
      const asOf = ports.now() - (ports.clock.monotonic() - heldSince);
      this.signals = new RunSignals(saga.id, graph, saga.signals, asOf, ports);
    }
    const { signals } = this;
    const now = signals ? () => signals.knownTime(this.state) : ports.now;
    this.record = new RunRecord(graph, saga.state, now, signals && ((state) => signals.next(state)));
    if (hasSubSagas) this.children = new RunChildren(saga, invoke, ports);
    this.checkpoints = new RunCheckpoints(saga, this.record, this.children, ports, heldSince);
    if (saga.reports !== undefined) this.reported = new RunReports(saga.reports);
    this.attempts = new RunAttempts(this, this.inbox, this.children, invoke, ports);
    const contextOf = (action: Action) => this.attempts.contextFor(action);
    this.permits = new RunPermits(graph, saga.id, ports, contextOf);
    if (hasSlots) this.slots = new RunSlots(graph, saga, ports, contextOf);
  }

  get id(): string {
    return this.saga.id;
  }

  get epoch(): number {
    return this.saga.epoch;
  }

  get state(): SagaState {
    return this.record.state;
  }

  /** Takes events that happened before this run, such as the loss of the worker before. */
  begin(events: readonly SagaEvent[]): void {
    // A worker that was lost may have been at what these have brought.
    this.signals?.give(this.record);
    for (const event of events) this.apply(event);
    this.record.begin();
  }

  advance(): Promise<RunEnd> {
    return this.slots ? this.runWith(this.slots) : this.runOn();
  }

  private async runWith(slots: RunSlots): Promise<RunEnd> {
    const end = await this.runOn();
    if (end.type !== 'fenced') await slots.freeAll(this.state);
    else void slots.passOn();
    return end;
  }

  /**
   * The life of a run. Each pass of the loop does the first thing that is due, and the next pass decides anew. The order is the
   * design: each phase relies on the phases above it having nothing to do.
   */
  private async runOn(): Promise<RunEnd> {
    if (this.children) for (const event of await this.children.endedFirst(this.state)) this.apply(event);
    while (!this.isFenced) {
      // Look for signals and slots that came without a hint to this run.
      const looking = this.lookInTime();
      if (looking && (await looking)) continue;
      // Decide.
      const decision = this.decide();
      const begins = !this.halts && decision.actions.length > 0;
      if (this.isOver(decision)) {
        // Rest, or finish: this saves as well. Undefined: the state has changed in between, so decide again.
        const end = await this.finish();
        if (end) return end;
      } else if (this.record.hasNews) {
        // Save: nothing begins before its cause is recorded.
        await this.saveProgress();
      } else if (begins && !this.isLeaseSafe) {
        // Renew: nothing begins on a lease that may have expired.
        await this.extendLease();
      } else if (begins && !this.writing.isFree) {
        // Let a transaction commit: after it, there may be nothing left to begin.
        (await this.writing.acquire())();
      } else {
        // Begin what may begin, if anything.
        const asking = begins ? this.beginAll(decision.actions) : undefined;
        const decidesAgain = asking && (await asking);
        if (this.isFenced) break;
        // Wait, unless there is something to decide: a limit has answered, or a saga was cancelled.
        if (!decidesAgain && !this.record.hasNews && this.inbox.isEmpty)
          await this.inbox.arrival(this.timeUntilNext(decision));
        // Receive.
        for (const message of this.inbox.take()) {
          const storing = 'wake' in message ? undefined : this.receive(message);
          if (storing) await storing;
        }
      }
    }
    return FENCED;
  }

  /** No attempt starts any more. */
  private get halts(): boolean {
    return this.isDraining || this.isPausing;
  }

  // Look

  /** True: something may have come. Undefined: there is nothing to look at. */
  private lookInTime(): Promise<boolean> | undefined {
    // A wait is over, unless its signal has arrived without a hint to this run.
    const look = this.signals?.lookInTime(this.state);
    if (look) return look.catch((error: unknown) => this.fenceAfter(error)).then(() => true);
    return this.slots && this.tend(this.slots);
  }

  private async tend(slots: RunSlots): Promise<boolean> {
    if (!this.record.hasNews) await slots.freeEnded(this.state);
    // Before the saga may come to rest: the store may have called it.
    return !this.halts && slots.mayAsk(this.state) && this.applyAnswer(slots.askAgain(this.state));
  }

  // Decide

  /** What to do next, once everything has happened that follows without doing anything. */
  private decide(): ReturnType<RunRecord['decide']> {
    const before = this.state;
    const decision = this.record.decide();
    if (this.state !== before) this.attempts.abortObsolete(this.graph, this.state);
    const paused = this.ports.pauses.of(this.saga.name);
    return paused ? (holdPaused(this.graph, decision, paused) as typeof decision) : decision;
  }

  // Rest, or finish

  /** No attempt is in progress, and none will start here. A state that settles the saga, or has settled it, waits for none. */
  private isOver(next: MachineDecision): boolean {
    if (isSettled(this.state.status)) return true;
    // What a checkpoint frees may be what another of its own items waits for.
    if (this.record.hasNews && this.slots?.waitsForItself(this.state)) return false;
    if (next.settle !== undefined) return true;
    if (!this.halts && this.permits.isAboutToBegin(next, this.state)) return false;
    // An attempt that ended while a checkpoint was being written is notified of by the inbox.
    if (this.attempts.size > 0 || !this.inbox.isEmpty) return false;
    return this.halts || (next.actions.length === 0 && !this.staysFor(next));
  }

  /** Does the saga keep its lease, and its place, for what comes next? */
  private staysFor(next: MachineDecision): boolean {
    return isNearRetry(next, this.state, this.ports.now()) && this.ports.hasRoom(this.saga.name);
  }

  /** Saves, and comes to rest or gives the lease back. Undefined: the state has changed in between. */
  private async finish(): Promise<RunEnd | undefined> {
    let dueAt: number | undefined;
    const result = await this.save(() => {
      // A transactional step may have ended while this waited for its turn.
      const decision = this.decide();
      if (this.isPausing && decision.settle === undefined) this.apply({ type: 'paused' });
      if (isSettled(this.state.status) && this.record.isSaved) return undefined;
      dueAt = decision.actions.length > 0 ? this.ports.now() : this.permits.dueFor(decision, this.state);
      const { settle } = decision;
      const state =
        settle === undefined
          ? this.state
          : evolve(this.graph, this.state, { type: 'settled', status: settle });
      return this.checkpointOf(state, decision, { release: { dueAt } });
    });
    if (result === 'fenced') return FENCED;
    if (result === 'cancelled') return undefined;
    return isSettled(this.state.status) ? SETTLED : { type: 'released', dueAt };
  }

  // Save

  private saveProgress(): Promise<CheckpointResult> {
    // A transactional step may have recorded it, while this waited for its turn.
    return this.save(() => (this.record.hasNews ? this.checkpointOf(this.state, this.decide()) : undefined));
  }

  /** Stores what `make` returns, which is called once no other checkpoint is being written. Undefined: nothing to store. */
  private async save(make: () => MadeCheckpoint | undefined): Promise<CheckpointResult> {
    const turn = this.writing.acquire();
    const release = turn instanceof Promise ? await turn : turn;
    try {
      const checkpoint = make();
      if (!checkpoint) return 'saved';
      let result: CheckpointResult;
      try {
        result = await this.ports.checkpoint(checkpoint);
      } catch (error) {
        return await this.unstorable(checkpoint, error);
      }
      this.ports.answered(this.ports.clock.monotonic() - checkpoint.madeAt);
      if (concernsOthers(checkpoint)) this.ports.claimSoon();
      if (result === 'saved') {
        this.record.saveAs(checkpoint.state);
        this.checkpoints.saved(checkpoint);
        this.signals?.forget(checkpoint.state);
        this.reported?.forgetEnded(checkpoint.state);
      } else await this.refused(result);
      return result;
    } finally {
      release();
    }
  }

  private checkpointOf(state: SagaState, next: MachineDecision, parts: CheckpointParts = {}): MadeCheckpoint {
    return this.checkpoints.make(state, next, this.cancelSeen, this.isPausing, parts);
  }

  /**
   * Makes the checkpoint of a transactional step, which its transaction stores.
   * @throws NotNow if another checkpoint of the saga is not written in time
   */
  async stage(attempt: StepAttempt, event: SagaEvent, mayEnd: boolean): Promise<Staged | undefined> {
    const release = await this.writing.acquireWithin(STAGE_MAX_WAIT_MS, this.ports.clock);
    if (!release) throw new NotNow();
    if (!this.attempts.has(attempt)) return void release();
    const { state, decision: next } = this.record.stage(event);
    // The last step's transaction also finishes the saga.
    const isLast = mayEnd && next.settle !== undefined && this.attempts.size === 1 && this.inbox.isEmpty;
    const candidate = isLast ? evolve(this.graph, state, { type: 'settled', status: next.settle }) : state;
    const parts = { ...(isLast && { release: {} }), effects: attempt.messages };
    return { candidate, checkpoint: this.checkpointOf(candidate, next, parts), release };
  }

  /** The transaction of a staged checkpoint has committed. */
  adopt({ candidate, checkpoint }: Staged): void {
    this.record.adopt(candidate);
    this.checkpoints.saved(checkpoint);
    this.reported?.forgetEnded(candidate);
    this.attempts.abortObsolete(this.graph, this.state);
  }

  /** The store has not taken a checkpoint: the run has to know of a cancellation, or of a pause, or its lease is lost. */
  async refused(result: CheckpointResult): Promise<void> {
    const asked = result === 'cancelled' ? await this.ports.asked(this) : undefined;
    const { cancelRequested, pauseRequested } = asked ?? {};
    if (!cancelRequested && !pauseRequested) return this.fence();
    if (cancelRequested && !this.cancelSeen) this.cancelNow(cancelRequested.reason);
    // It was asked for after a cancellation, or that would have taken it back.
    if (pauseRequested) this.isPausing = true;
  }

  private cancelNow(reason: string | undefined): void {
    this.isPausing = false;
    // Not by way of the inbox: the next checkpoint must know of it.
    this.apply(cancellation(reason, this.ports.now()));
    this.attempts.abortCancelled(this.state);
  }

  /**
   * The checkpoint failed. If the database refuses the data, the results that are new since the last checkpoint are the only
   * user data in it, so their steps have failed. Nothing else says anything about the steps: the write may have been
   * committed all the same (at shutdown the database is not waited for), or keys of a codec are missing. Then, and if even
   * the failure cannot be stored, the lease runs out and the bound on takeovers leaves the saga to an operator.
   */
  private async unstorable({ state, changed }: MadeCheckpoint, error: unknown): Promise<CheckpointResult> {
    const isRefused = this.ports.store.refuses(error);
    const what = isRefused ? 'a checkpoint was refused: ' : 'a checkpoint could not be stored: ';
    logErrorOf(this.saga, error, this.ports.log, what);
    const fresh = changed.filter((name) => stepState(state, name).status === 'completed');
    if (fresh.length === 0 || !isRefused) {
      this.fence();
      return 'fenced';
    }
    // A step that completes leaves its last details of heartbeats unstored, and one that fails does not.
    await this.storeReports();
    this.record.refuse(fresh, serializeError(error));
    this.checkpoints.retract(fresh);
    return 'cancelled';
  }

  // Renew

  /** False: the answer to the last request for the lease came late, and another worker may have taken over. */
  get isLeaseSafe(): boolean {
    const { clock, lease } = this.ports;
    return !this.isFenced && clock.monotonic() - this.leasedAt <= lease * SAFE_SHARE;
  }

  /** Renews the lease until it is safe or lost, or until the run starts nothing more. */
  async extendLease(longer?: number): Promise<void> {
    const { clock, random } = this.ports;
    for (let tries = 0; ; tries += 1) {
      await this.ports.renew(this, longer);
      if (this.isLeaseSafe || this.isFenced || this.isDraining) return;
      await sleep(clock, transientWait(tries, random()));
    }
  }

  // Begin

  /**
   * Begins these actions. Before an attempt starts, its step has a slot and a time if it has such limits, and if it is at most once,
   * the start is stored. The promise resolves to true if a limit was asked when some of them may begin. Undefined: all have begun at
   * once.
   */
  private beginAll(actions: readonly Action[]): Promise<boolean> | undefined {
    const [first] = actions;
    if (first!.kind === 'begin') return this.applyAnswer(this.permits.askTurn(first!, this.state));
    const ready = actions.filter(
      (action) => !this.isAsked(action) && !this.attempts.startsEvaluation(action),
    );
    if (ready.some((action) => isAtMostOnce(action) || this.isLimited(action) || this.slots?.needs(action)))
      return this.beginInTurn(ready);
    this.startAtOnce(ready);
    return undefined;
  }

  /** To cancel another saga changes nothing here until it is done. */
  private isAsked({ kind, key }: Action): boolean {
    return kind === 'cancel-child' && this.attempts.includes(key);
  }

  private isLimited(action: Action): boolean {
    return needsPermit(action, this.state, this.ports.now());
  }

  private async beginInTurn(ready: readonly Action[]): Promise<boolean> {
    // A slot is taken first: a time that a rate limit gives is soon over.
    const slotless = this.slots ? ready.filter((action) => this.slots!.needs(action)) : NOTHING;
    const limited = ready.filter((action) => !slotless.includes(action) && this.isLimited(action));
    await this.beginUnlimited(
      ready.filter((action) => !limited.includes(action) && !slotless.includes(action)),
    );
    if (this.isFenced || limited.length + slotless.length === 0) return false;
    if (slotless.length > 0) await this.applyAnswer(this.slots!.take(slotless, this.state));
    if (limited.length > 0 && !this.isFenced) await this.applyAnswer(this.permits.ask(limited, this.state));
    return true;
  }

  /** Takes what a limit has answered. Undefined: the lease is lost. */
  private async applyAnswer(asked: Promise<SagaEvent[] | undefined>): Promise<true> {
    await asked.then(
      (events) => (events ? events.forEach((event) => this.apply(event)) : this.fence()),
      (error: unknown) => this.fenceAfter(error),
    );
    return true;
  }

  /** That at-most-once steps begin is stored before they do. Others do not wait for that. */
  private async beginUnlimited(ready: readonly Action[]): Promise<void> {
    const recorded = ready.filter((action) => isAtMostOnce(action));
    this.startAtOnce(ready.filter((action) => !recorded.includes(action)));
    if (recorded.length === 0) return;
    const started = recorded.flatMap((action) => startOf(action) ?? []);
    const start = () => started.reduce((state, event) => evolve(this.graph, state, event), this.state);
    const result = await this.save(() => this.checkpointOf(start(), { actions: recorded }));
    if (result === 'saved' && !this.isLeaseSafe) await this.extendLease();
    if (result !== 'saved' || this.isFenced) return;
    // The process is to stop before its lease is safe: the next worker begins them, as if nothing were recorded.
    if (!this.isLeaseSafe) for (const { key } of recorded) this.apply({ type: 'start-withdrawn', step: key });
    else for (const action of recorded) this.start(action);
  }

  private startAtOnce(actions: readonly Action[]): void {
    for (const action of actions) {
      const event = startOf(action);
      if (event) this.apply(event);
    }
    for (const action of actions) this.start(action);
  }

  private start(action: Action): void {
    this.attempts.start(action);
    if (action.kind === 'run' && this.cancelAsked) this.attempts.abortCancelled(this.state);
  }

  // Wait, and receive

  private timeUntilNext({ wakeAt }: MachineDecision): number | undefined {
    const time = wakeAt === undefined ? undefined : wakeAt - this.ports.now();
    const asks = this.halts ? undefined : this.slots?.untilAsked(this.state);
    return asks === undefined ? time : Math.min(asks, time ?? Infinity);
  }

  /**
   * Applies the outcome of an attempt, or another event that the inbox has received. The promise resolves once the last reports of
   * attempts are stored that were interrupted. Undefined: there are none.
   */
  private receive({ attempt, event }: Outcome): Promise<void> | undefined {
    if (attempt) {
      const { active } = stepState(this.state, attempt.step);
      if (!active && attempt.action.kind !== 'cancel-child') return undefined; // interrupted: no longer needed
      this.checkpoints.took(attempt.step, this.ports.clock.monotonic() - attempt.startedAt);
    }
    const hasBrokenOff = attempt?.isBrokenOff === true && isFailure(event);
    if (event.type === 'interrupted' || hasBrokenOff) return this.recordInterrupted();
    const before = this.state;
    this.apply(event);
    // An attempt that failed, or that the run does not wait for any more, sends no messages, and sets no tags.
    if (attempt && ENDED.has(event.type) && this.state !== before)
      this.checkpoints.keep(attempt.step, attempt.messages);
    this.attempts.abortObsolete(this.graph, this.state);
    return undefined;
  }

  /** Whatever is in progress is recorded as unknown, and the lease given back. */
  private recordInterrupted(): Promise<void> | undefined {
    this.apply({ type: 'interrupted', now: this.ports.now() });
    this.attempts.clear();
    this.isDraining = true;
    return this.hasUnsavedReports ? this.storeReports() : undefined;
  }

  apply(event: SagaEvent): void {
    this.record.apply(event);
    if (event.type === 'cancelled') this.cancelAsked = this.cancelSeen = true;
  }

  // Requests of the worker

  /** A cancellation revokes the request to pause. */
  cancel(reason: string | undefined): void {
    if (this.cancelAsked) return;
    this.cancelAsked = true;
    this.isPausing = false;
    const event = cancellation(reason, this.ports.now());
    this.inbox.put({ event });
    this.attempts.abortCancelled(evolve(this.graph, this.state, event));
  }

  /** The lease is another's: whatever is in progress here does not count any more. */
  fence(): void {
    if (this.isFenced) return;
    this.isFenced = true;
    this.attempts.abort('lease-lost', 'The lease of this saga was lost; another worker may be running it');
    this.inbox.put({ wake: true });
  }

  /** The store failed, not a method: it is unknown what is stored. The worker that claims the saga next reads it. */
  fenceAfter(error: unknown): void {
    logErrorOf(this.saga, error, this.ports.log);
    this.fence();
  }

  /**
   * The lease could not be renewed in time. The methods are aborted, but their results count if no worker took over.
   */
  leaseExpired(): void {
    this.attempts.abort('lease-lost', 'The lease of this saga could not be renewed in time');
  }

  /** Begins nothing more; once what is in progress has settled, the lease is given back. */
  drain(): void {
    this.isDraining = true;
    this.inbox.put({ wake: true });
  }

  /** Begins nothing more; once the attempts in progress have ended, the saga is paused until an operator resumes it. */
  pause(): void {
    this.isPausing = true;
    this.inbox.put({ wake: true });
  }

  /** The time to drain is over: methods that heed their signal break off. */
  abortForShutdown(): void {
    this.attempts.abort('shutdown', 'The process is shutting down');
  }

  /** Attempts that have not broken off are recorded as unknown, and the lease is given back. */
  interrupt(): void {
    this.inbox.put({ event: { type: 'interrupted', now: this.ports.now() } });
  }

  /** What operators have paused is another. */
  decideAgain(): void {
    this.inbox.put({ wake: true });
  }

  /** What one of its steps waits for may have come: the end of another saga, or a signal. */
  look(): void {
    void this.lookAround().catch((error: unknown) => {
      // The saga was marked as due at once. The worker that claims it next looks again.
      this.ports.log.warn(`Saga ${this.id}: ${serializeError(error).message}`, subjectOf(this.saga));
    });
  }

  private async lookAround(): Promise<void> {
    if (this.children) for (const event of await this.children.ended(this.state)) this.inbox.put({ event });
    if (await this.signals?.look()) this.inbox.put({ wake: true });
    if (!this.slots) return;
    this.slots.forget();
    this.inbox.put({ wake: true });
  }

  // Reports of steps

  get hasUnsavedReports(): boolean {
    return this.reported !== undefined && !this.reported.isStored;
  }

  async storeReports(): Promise<void> {
    await this.reported?.sent;
    if (this.reported?.hasNews) await this.ports.renew(this);
    // Another renewal may have taken them.
    await this.reported?.sent;
  }

  reportOf({ key, round }: ReportPlace): StepReport | undefined {
    return this.reported?.of(key, round);
  }

  keepReport({ key, round }: ReportPlace, report: AttemptReport, isUrgent: boolean): void {
    this.reported ??= new RunReports(undefined);
    this.reported.put(key, round, report, isUrgent);
    // It is the method that calls: the timer is not to belong to its context.
    if (isUrgent) void inOwnContext(() => this.ports.reportSoon());
  }
}
