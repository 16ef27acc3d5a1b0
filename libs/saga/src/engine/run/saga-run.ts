import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { Action, Decision } from '../../machine/decide.js';
import { evolve } from '../../machine/evolve.js';
import { relationsOf } from '../../machine/graph-relations.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { isSettled, type SagaState, stepState } from '../../machine/saga-state.js';
import { cancellation, ENDED, isAtMostOnce, startOf } from '../attempt/attempt-events.js';
import type { StepAttempt } from '../attempt/step-attempt.js';
import { isFailure, type Staged } from '../attempt/transactional-attempt.js';
import { serializeError } from '../payload/serialize-error.js';
import { logErrorOf, subjectOf } from '../ports/engine-log.js';
import type { Invoker } from '../ports/invoker.js';
import type { CheckpointResult } from '../ports/checkpoint.js';
import type { StepReport } from '../ports/step-reports.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { ReportPlace } from '../attempt/attempt-reports.js';
import { type AttemptingRun, AttemptStarter, type RunMessage } from './attempt-starter.js';
import { Inbox } from './inbox.js';
import { staysFor } from './near-retry.js';
import { needsPermit } from './permit-lead.js';
import { RunAttempts } from './run-attempts.js';
import { RunCheckpoints } from './run-checkpoints.js';
import { RunChildren } from './run-children.js';
import { RunLease } from './run-lease.js';
import { RunPermits } from './run-permits.js';
import { RunRecord } from './run-record.js';
import { type Report, RunReports } from './run-reports.js';
import { RunSignals } from './run-signals.js';
import { RunWriter, type WrittenRun } from './run-writer.js';
import type { RunEnd, SagaRunPorts } from './saga-run-ports.js';

const SETTLED: RunEnd = { type: 'settled' };

/**
 * Advances one saga while this worker holds its lease: decide, attempt, checkpoint, until it is idle, has to
 * wait, or is another's. One checkpoint after each step, none before, unless the step is at most once.
 */
export class SagaRun implements AttemptingRun, WrittenRun {
  readonly record: RunRecord;
  readonly inbox: Inbox<RunMessage>;
  readonly attempts = new RunAttempts();
  cancelAsked = false;
  /** The state knows of the cancellation. */
  private cancelSeen = false;
  private draining = false;
  isPausing = false;
  private readonly lease: RunLease;
  private readonly writer: RunWriter;
  private readonly starter: AttemptStarter;
  readonly checkpoints: RunCheckpoints;
  private readonly permits: RunPermits;
  /** Undefined: none of its steps starts one. */
  readonly children: RunChildren | undefined;
  /** Undefined: none of its steps waits for one. */
  readonly signals: RunSignals | undefined;
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
    this.starter = new AttemptStarter(this, invoke, ports);
    this.permits = new RunPermits(saga.name, ports, (action) => this.starter.contextFor(action));
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

  get isIdle(): boolean {
    return this.inbox.isEmpty;
  }

  get requests(): WrittenRun['requests'] {
    return { cancelSeen: this.cancelSeen, pauseSeen: this.isPausing };
  }

  get hasUnsavedReports(): boolean {
    return this.reported?.hasNews ?? false;
  }

  storeReports(): Promise<void> {
    return this.ports.renew(this);
  }

  reportOf({ key, round }: ReportPlace): StepReport | undefined {
    return this.reported?.of(key, round);
  }

  keepReport({ key, round }: ReportPlace, report: Report, isUrgent: boolean): void {
    this.reported ??= new RunReports(undefined);
    this.reported.put(key, round, report);
    if (isUrgent) this.ports.reportSoon();
  }

  /** Events that happened before this run, such as the loss of the worker before. */
  begin(events: readonly SagaEvent[]): void {
    // A worker that was lost may have been at what these have brought.
    this.signals?.hear(this.record, { withRefusals: false });
    for (const event of events) this.apply(event);
    this.record.begin();
  }

  private apply(event: SagaEvent): void {
    this.record.apply(event);
    if (event.type === 'cancelled') this.cancelSeen = this.cancelAsked = true;
  }

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
    this.draining = true;
    this.inbox.put({ wake: true });
  }

  /** The same, and once the attempts in progress have ended, the saga is paused until an operator resumes it. */
  pause(): void {
    this.isPausing = true;
    this.inbox.put({ wake: true });
  }

  /** The time to drain is over: methods that heed their signal break off. */
  abortForShutdown(): void {
    this.attempts.abort('shutdown', 'The process is shutting down');
  }

  /** Those that do not are recorded as unknown, and the lease is given back. */
  interrupt(): void {
    this.inbox.put({ event: { type: 'interrupted', now: this.ports.now() } });
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
  }

  async advance(): Promise<RunEnd> {
    if (this.children) for (const event of await this.children.endedFirst(this.state)) this.apply(event);
    for (;;) {
      if (this.isFenced) return { type: 'fenced' };
      const look = this.signals?.lookInTime(this.state);
      if (look) {
        // A wait is over, unless its signal has arrived without a hint to this run.
        await look.catch((error: unknown) => this.fenceAfter(error));
        continue;
      }
      const decision = this.decide();
      if (this.isOver(decision)) {
        const end = await this.finish();
        if (end) return end;
        continue;
      }
      if (this.record.hasNews) {
        await this.saveProgress();
        continue;
      }
      const begins = !this.halts && decision.actions.length > 0;
      if (begins && !this.isSure) {
        await this.makeSure();
        continue;
      }
      const asking = begins ? this.beginAll(decision.actions) : undefined;
      const asked = asking && (await asking);
      if (this.isFenced) return { type: 'fenced' };
      // What is to begin by its rate limit, now or later, is another decision; so is what a cancellation calls for.
      if ((asked || this.record.hasNews) && this.inbox.isEmpty) continue;
      if (this.inbox.isEmpty) await this.inbox.arrival(this.timeUntil(decision.wakeAt));
      for (const message of this.inbox.take()) if (!('wake' in message)) this.take(message);
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
    return decision;
  }

  /** No attempt starts any more. */
  private get halts(): boolean {
    return this.draining || this.isPausing;
  }

  /** No attempt is in progress, and none will start here. */
  private isOver(next: Decision): boolean {
    if (next.settle !== undefined) return true;
    if (!this.halts && this.permits.isAboutToBegin(next, this.state)) return false;
    // An attempt that ended while a checkpoint was being written is notified of by the inbox.
    if (this.attempts.size > 0 || !this.inbox.isEmpty) return false;
    return (
      this.halts || (next.actions.length === 0 && !staysFor(next, this.state, this.saga.name, this.ports))
    );
  }

  /** Comes to rest, or gives the lease back. Undefined: a cancellation came in between, go on. */
  private async finish(): Promise<RunEnd | undefined> {
    let dueAt: number | undefined;
    const result = await this.writer.save(() => {
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
      return this.writer.checkpointOf(state, decision, { release: { dueAt } });
    });
    if (result === 'fenced') return { type: 'fenced' };
    if (result === 'cancelled') return undefined;
    return isSettled(this.state.status) ? SETTLED : { type: 'released', dueAt };
  }

  /** True: of some of these only the rate limits were asked when they may begin. Undefined: all have begun at once. */
  private beginAll(actions: readonly Action[]): Promise<boolean> | undefined {
    const ready = actions.filter((action) => !this.isAsked(action) && !this.starter.evaluatesFirst(action));
    if (ready.some((action) => isAtMostOnce(action) || this.isLimited(action)))
      return this.beginInTurn(ready);
    for (const action of ready) {
      const event = startOf(action);
      if (event) this.apply(event);
    }
    for (const action of ready) this.starter.start(action);
    return undefined;
  }

  private isLimited(action: Action): boolean {
    return needsPermit(action, this.state, this.ports.now());
  }

  private async beginInTurn(ready: readonly Action[]): Promise<boolean> {
    const limited = ready.filter((action) => this.isLimited(action));
    await this.beginRecorded(ready.filter((action) => !limited.includes(action)));
    if (limited.length === 0 || this.isFenced) return false;
    await this.permits.ask(limited).then(
      (events) => events.forEach((event) => this.apply(event)),
      (error: unknown) => this.fenceAfter(error),
    );
    return true;
  }

  /** That at-most-once steps begin is stored before they do. */
  private async beginRecorded(begun: readonly Action[]): Promise<void> {
    const started = begun.flatMap((action) => startOf(action) ?? []);
    if (begun.some((action) => isAtMostOnce(action))) {
      const start = () => started.reduce((state, event) => evolve(this.graph, state, event), this.state);
      const result = await this.writer.save(() => this.writer.checkpointOf(start(), { actions: begun }));
      if (result === 'saved' && !this.isLeaseSafe) await this.extendLease();
      if (result !== 'saved' || !this.isLeaseSafe) return;
    } else {
      for (const event of started) this.apply(event);
    }
    for (const action of begun) this.starter.start(action);
  }

  extendLease(longer?: number): Promise<void> {
    return this.lease.extend(
      () => this.ports.renew(this, longer),
      () => this.draining,
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

  /** To cancel another saga changes nothing here until it is done. */
  private isAsked({ kind, key }: Action): boolean {
    return kind === 'cancel-child' && this.attempts.includes(key);
  }

  stage(attempt: StepAttempt, event: SagaEvent): Promise<Staged | undefined> {
    return this.writer.stage(attempt, event);
  }

  adopt(staged: Staged): void {
    this.writer.adopt(staged);
  }

  private timeUntil(wakeAt: number | undefined): number | undefined {
    return wakeAt === undefined ? undefined : wakeAt - this.ports.now();
  }

  private take({ attempt, event }: Extract<RunMessage, { event: unknown }>): void {
    if (attempt) {
      const { active } = stepState(this.state, attempt.step);
      if (!active && attempt.action.kind !== 'cancel-child') return; // interrupted: no longer needed
      this.checkpoints.took(attempt.step, this.ports.clock.monotonic() - attempt.startedAt);
      // An attempt that broke off because the lease was lost, or for shutdown, did not fail.
      const trigger = attempt.abortedBy?.trigger;
      if ((trigger === 'lease-lost' || trigger === 'shutdown') && isFailure(event))
        return this.takeInterruption();
    }
    if (event.type === 'interrupted') return this.takeInterruption();
    const before = this.state;
    this.apply(event);
    // An attempt that failed, or that the run does not wait for any more, sends no messages.
    const ended = ENDED.has(event.type) && this.state !== before;
    if (attempt && ended) {
      this.checkpoints.publish(attempt.step, attempt.messages.all);
      this.reported?.forget(attempt.reportPlace.key);
    }
    this.attempts.abortObsolete(this.graph, this.state);
  }

  /** Whatever is in progress is recorded as unknown, and the lease given back. */
  private takeInterruption(): void {
    this.apply({ type: 'interrupted', now: this.ports.now() });
    this.attempts.clear();
    this.draining = true;
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
}
