import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { Decision } from '../../machine/plan.js';
import { evolve } from '../../machine/evolve.js';
import { holdPaused } from '../../machine/hold-paused.js';
import { relationsOf } from '../../machine/graph-relations.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { isSettled, type SagaState } from '../../machine/saga-state.js';
import { inOwnContext } from '../../shared/own-context.js';
import { cancellation } from '../attempt/attempt-events.js';
import type { StepAttempt } from '../attempt/step-attempt.js';
import type { Staged } from '../attempt/transactional-attempt.js';
import { serializeError } from '../payload/serialize-error.js';
import { logErrorOf, subjectOf } from '../ports/engine-log.js';
import type { Invoker } from '../ports/invoker.js';
import type { CheckpointResult } from '../ports/checkpoint.js';
import type { StepReport } from '../ports/step-reports.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { ReportPlace } from '../attempt/attempt-reports.js';
import type { RunMessage } from './attempt-starter.js';
import { Inbox } from './inbox.js';
import { staysFor } from './near-retry.js';
import { type ActingRun, RunActions } from './run-actions.js';
import { RunAttempts } from './run-attempts.js';
import { RunCheckpoints } from './run-checkpoints.js';
import { RunChildren } from './run-children.js';
import { RunLease } from './run-lease.js';
import type { RunPermits } from './run-permits.js';
import { RunRecord } from './run-record.js';
import { type Report, RunReports } from './run-reports.js';
import { RunRequests } from './run-requests.js';
import { RunSignals } from './run-signals.js';
import type { RunSlots } from './run-slots.js';
import { RunWriter, type WrittenRun } from './run-writer.js';
import type { RunEnd, SagaRunPorts } from './saga-run-ports.js';
import { type ReceivingRun, takeOutcome } from './take-outcome.js';

const SETTLED: RunEnd = { type: 'settled' };

/**
 * Advances one saga while this worker holds its lease: decide, attempt, checkpoint, until it is idle, has to
 * wait, or is another's. One checkpoint after each step, none before, unless the step is at most once.
 */
export class SagaRun implements ActingRun, ReceivingRun, WrittenRun {
  readonly record: RunRecord;
  readonly inbox: Inbox<RunMessage>;
  readonly attempts = new RunAttempts();
  readonly requests = new RunRequests();
  private readonly lease: RunLease;
  private readonly writer: RunWriter;
  private readonly actions: RunActions;
  readonly checkpoints: RunCheckpoints;
  private readonly permits: RunPermits;
  /** Undefined: none of its steps starts one. */
  readonly children: RunChildren | undefined;
  /** Undefined: none of its steps waits for one. */
  readonly signals: RunSignals | undefined;
  /** Undefined: none of its steps has a limit over all sagas. */
  private readonly slots: RunSlots | undefined;
  /** Undefined: none of its steps has reported anything. */
  reported: RunReports | undefined;

  constructor(
    readonly saga: StoredSaga,
    private readonly graph: SagaGraph,
    invoke: Invoker,
    private readonly ports: SagaRunPorts,
    leasedAt: number,
  ) {
    this.lease = new RunLease(leasedAt, ports);
    this.inbox = new Inbox(ports.clock);
    const { hasSubSagas, hasWaits } = relationsOf(graph);
    if (hasWaits) {
      const asOf = ports.now() - (ports.clock.monotonic() - leasedAt);
      this.signals = new RunSignals(saga.id, graph, saga.signals, asOf, ports);
    }
    const { signals } = this;
    const now = signals ? () => signals.knownTime(this.state) : ports.now;
    this.record = new RunRecord(graph, saga.state, now);
    if (hasSubSagas) this.children = new RunChildren(saga, invoke, ports);
    this.checkpoints = new RunCheckpoints(saga, this.record, this.children, ports, leasedAt);
    this.writer = new RunWriter(this, ports);
    if (saga.reports !== undefined) this.reported = new RunReports(saga.reports);
    this.actions = new RunActions(this, graph, invoke, this.writer, ports);
    this.permits = this.actions.permits;
    this.slots = this.actions.slots;
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

  get leasedAt(): number {
    return this.lease.leasedAt;
  }

  set leasedAt(time: number) {
    this.lease.leasedAt = time;
  }

  get isFenced(): boolean {
    return this.lease.isLost;
  }

  get isLeaseSafe(): boolean {
    return this.lease.isSafe;
  }

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

  keepReport({ key, round }: ReportPlace, report: Report, isUrgent: boolean): void {
    this.reported ??= new RunReports(undefined);
    this.reported.put(key, round, report, isUrgent);
    // It is the method that calls: the timer is not to belong to its context.
    if (isUrgent) void inOwnContext(() => this.ports.reportSoon());
  }

  /** Events that happened before this run, such as the loss of the worker before. */
  begin(events: readonly SagaEvent[]): void {
    // A worker that was lost may have been at what these have brought.
    this.signals?.hear(this.record, { withRefusals: false });
    for (const event of events) this.apply(event);
    this.record.begin();
  }

  apply(event: SagaEvent): void {
    this.record.apply(event);
    if (event.type === 'cancelled') this.requests.cancelled();
  }

  cancel(reason: string | undefined): void {
    if (this.requests.cancelAsked) return;
    this.requests.cancel();
    const event = cancellation(reason, this.ports.now());
    this.inbox.put({ event });
    this.attempts.abortCancelled(evolve(this.graph, this.state, event));
  }

  /** The lease is another's: whatever is in progress here does not count any more. */
  fence(): void {
    if (this.isFenced) return;
    this.lease.isLost = true;
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
    this.requests.isDraining = true;
    this.inbox.put({ wake: true });
  }

  /** The same, and once the attempts in progress have ended, the saga is paused until an operator resumes it. */
  pause(): void {
    this.requests.isPausing = true;
    this.inbox.put({ wake: true });
  }

  /** The time to drain is over: methods that heed their signal break off. */
  abortForShutdown(): void {
    this.attempts.abort('shutdown', 'The process is shutting down');
  }

  /** Those that do not are recorded as unknown once their last reports are stored, and the lease is given back. */
  async interrupt(): Promise<void> {
    if (this.hasUnsavedReports) await this.storeReports();
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

  advance(): Promise<RunEnd> {
    return this.slots ? this.runWith(this.slots) : this.runOn();
  }

  private async runWith(slots: RunSlots): Promise<RunEnd> {
    const end = await this.runOn();
    if (end.type !== 'fenced') await slots.freeAll(this.state);
    else void slots.passOn();
    return end;
  }

  private async runOn(): Promise<RunEnd> {
    if (this.children) for (const event of await this.children.endedFirst(this.state)) this.apply(event);
    for (;;) {
      if (this.isFenced) return { type: 'fenced' };
      const look = this.signals?.lookInTime(this.state);
      if (look) {
        // A wait is over, unless its signal has arrived without a hint to this run.
        await look.catch((error: unknown) => this.fenceAfter(error));
        continue;
      }
      if (this.slots && !this.record.hasNews) await this.slots.freeEnded(this.state);
      // Before the saga may come to rest: the store may have called it.
      if (!this.requests.halts && this.slots?.mayAsk(this.state)) {
        await this.actions.askForSlots();
        continue;
      }
      const decision = this.decide();
      if (this.isOver(decision)) {
        // What it frees may be what another of its own items waits for.
        if (this.record.hasNews && this.slots?.waitsForItself(this.state)) {
          await this.saveProgress();
          continue;
        }
        const end = await this.finish();
        if (end) return end;
        continue;
      }
      if (this.record.hasNews) {
        await this.saveProgress();
        continue;
      }
      const begins = !this.requests.halts && decision.actions.length > 0;
      if (begins && !this.isSure) {
        await this.makeSure();
        continue;
      }
      const asking = begins ? this.actions.begin(decision.actions) : undefined;
      const asked = asking && (await asking);
      if (this.isFenced) return { type: 'fenced' };
      // What is to begin by its rate limit, now or later, is another decision; so is what a cancellation calls for.
      if ((asked || this.record.hasNews) && this.inbox.isEmpty) continue;
      if (this.inbox.isEmpty) await this.inbox.arrival(this.timeUntilNext(decision));
      for (const message of this.inbox.take())
        if (!('wake' in message)) takeOutcome(this, message, this.ports);
    }
  }

  /** What to do next, once everything has happened that follows without doing anything. */
  private decide(): ReturnType<RunRecord['decide']> {
    const before = this.state;
    this.signals?.hear(this.record);
    let decision = this.record.decide();
    // What has begun to wait just now may find what came before.
    while (this.signals?.hear(this.record)) decision = this.record.decide();
    if (this.state !== before) this.attempts.abortObsolete(this.graph, this.state);
    const paused = this.ports.pauses.of(this.saga.name);
    return paused ? (holdPaused(this.graph, decision, paused) as typeof decision) : decision;
  }

  /** No attempt is in progress, and none will start here. */
  private isOver(next: Decision): boolean {
    if (next.settle !== undefined) return true;
    if (!this.requests.halts && this.permits.isAboutToBegin(next, this.state)) return false;
    // An attempt that ended while a checkpoint was being written is notified of by the inbox.
    if (this.attempts.size > 0 || !this.inbox.isEmpty) return false;
    return (
      this.requests.halts ||
      (next.actions.length === 0 && !staysFor(next, this.state, this.saga.name, this.ports))
    );
  }

  /** Comes to rest, or gives the lease back. Undefined: a cancellation came in between, go on. */
  private async finish(): Promise<RunEnd | undefined> {
    let dueAt: number | undefined;
    const result = await this.writer.save(() => {
      // A transactional step may have ended while this waited for its turn.
      const decision = this.decide();
      if (this.requests.isPausing && decision.settle === undefined) this.apply({ type: 'paused' });
      if (isSettled(this.state.status) && this.record.isSaved) return undefined;
      dueAt = decision.actions.length > 0 ? this.ports.now() : this.permits.dueFor(decision, this.state);
      const { settle } = decision;
      const state =
        settle === undefined
          ? this.state
          : evolve(this.graph, this.state, { type: 'settled', status: settle });
      return this.writer.checkpointOf(state, decision, { release: { dueAt } });
    });
    if (result === 'fenced') return { type: 'fenced' };
    if (result === 'cancelled') return undefined;
    return isSettled(this.state.status) ? SETTLED : { type: 'released', dueAt };
  }

  extendLease(longer?: number): Promise<void> {
    return this.lease.extend(
      () => this.ports.renew(this, longer),
      () => this.requests.isDraining,
    );
  }

  /** Nothing is to begin before it is: what a transaction is about to commit may leave nothing to begin. */
  private get isSure(): boolean {
    return this.isLeaseSafe && this.writer.isFree;
  }

  private async makeSure(): Promise<void> {
    if (!this.isLeaseSafe) await this.extendLease();
    else await this.writer.becomesFree();
  }

  stage(attempt: StepAttempt, event: SagaEvent): Promise<Staged | undefined> {
    return this.writer.stage(attempt, event);
  }

  adopt(staged: Staged): void {
    this.writer.adopt(staged);
  }

  private timeUntilNext({ wakeAt }: Decision): number | undefined {
    const time = wakeAt === undefined ? undefined : wakeAt - this.ports.now();
    const asks = this.requests.halts ? undefined : this.slots?.untilAsked(this.state);
    return asks === undefined ? time : Math.min(asks, time ?? Infinity);
  }

  private saveProgress(): Promise<CheckpointResult> {
    // A transactional step may have recorded it, while this waited for its turn.
    return this.writer.save(() =>
      this.record.hasNews ? this.writer.checkpointOf(this.state, this.decide()) : undefined,
    );
  }

  async refused(result: CheckpointResult): Promise<void> {
    const asked = result === 'cancelled' ? await this.ports.asked(this) : undefined;
    const { cancelRequested, pauseRequested } = asked ?? {};
    if (!cancelRequested && !pauseRequested) return this.fence();
    if (cancelRequested && !this.requests.cancelSeen) this.cancelNow(cancelRequested.reason);
    // It was asked for after a cancellation, or that would have taken it back.
    if (pauseRequested) this.requests.isPausing = true;
  }

  private cancelNow(reason: string | undefined): void {
    this.requests.isPausing = false;
    // Not by way of the inbox: the next checkpoint must know of it.
    this.apply(cancellation(reason, this.ports.now()));
    this.attempts.abortCancelled(this.state);
  }
}
