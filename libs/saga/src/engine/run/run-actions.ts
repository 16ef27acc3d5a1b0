import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { evolve } from '../../machine/evolve.js';
import { relationsOf } from '../../machine/graph-relations.js';
import type { Action } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { NOTHING } from '../../shared/empty-array.js';
import { isAtMostOnce, startOf } from '../attempt/attempt-events.js';
import type { Invoker } from '../ports/invoker.js';
import { type AttemptingRun, AttemptStarter } from './attempt-starter.js';
import { needsPermit } from './permit-lead.js';
import { RunPermits } from './run-permits.js';
import type { RunRecord } from './run-record.js';
import { RunSlots } from './run-slots.js';
import type { RunWriter } from './run-writer.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/** The run whose actions begin. */
export interface ActingRun extends AttemptingRun {
  readonly record: RunRecord;
}

/**
 * Begins the actions of one run's decisions. Before an attempt starts, its step has a slot and a time if it has such limits,
 * and if it is at most once, the start is stored.
 */
export class RunActions {
  private readonly starter: AttemptStarter;
  /** The rate limits. */
  readonly permits: RunPermits;
  /** Undefined: no step has a limit over all sagas. */
  readonly slots: RunSlots | undefined;

  constructor(
    private readonly run: ActingRun,
    graph: SagaGraph,
    invoke: Invoker,
    private readonly writer: RunWriter,
    private readonly ports: SagaRunPorts,
  ) {
    this.starter = new AttemptStarter(run, invoke, ports);
    const contextOf = (action: Action) => this.starter.contextFor(action);
    this.permits = new RunPermits(graph, run.saga.id, ports, contextOf);
    if (relationsOf(graph).hasSlots)
      this.slots = new RunSlots(graph, run.saga, run.saga.state, ports, contextOf);
  }

  /**
   * Begins these actions. The promise resolves to true if a limit was asked when some of them may begin. Undefined: all have
   * begun at once.
   */
  begin(actions: readonly Action[]): Promise<boolean> | undefined {
    const [first] = actions;
    if (first!.kind === 'begin') return this.applyPermits(this.permits.askTurn(first!));
    const ready = actions.filter((action) => !this.isAsked(action) && !this.starter.evaluatesFirst(action));
    if (ready.some((action) => isAtMostOnce(action) || this.isLimited(action) || this.slots?.needs(action)))
      return this.beginInTurn(ready);
    this.startAtOnce(ready);
    return undefined;
  }

  /** Asks again for the slots that steps wait for. */
  askForSlots(): Promise<void> {
    return this.applySlots(this.slots!.askAgain(this.run.state));
  }

  /** To cancel another saga changes nothing here until it is done. */
  private isAsked({ kind, key }: Action): boolean {
    return kind === 'cancel-child' && this.run.attempts.includes(key);
  }

  private isLimited(action: Action): boolean {
    return needsPermit(action, this.run.state, this.ports.now());
  }

  private async beginInTurn(ready: readonly Action[]): Promise<boolean> {
    // A slot is taken first: a time that a rate limit gives is soon over.
    const slotless = this.slots ? ready.filter((action) => this.slots!.needs(action)) : NOTHING;
    const limited = ready.filter((action) => !slotless.includes(action) && this.isLimited(action));
    await this.beginUnlimited(
      ready.filter((action) => !limited.includes(action) && !slotless.includes(action)),
    );
    if (this.run.isFenced || limited.length + slotless.length === 0) return false;
    if (slotless.length > 0) await this.applySlots(this.slots!.take(slotless, this.run.state));
    if (limited.length > 0 && !this.run.isFenced) await this.applyPermits(this.permits.ask(limited));
    return true;
  }

  private async applyPermits(asked: Promise<SagaEvent[]>): Promise<true> {
    await asked.then(
      (events) => events.forEach((event) => this.run.record.apply(event)),
      (error: unknown) => this.run.fenceAfter(error),
    );
    return true;
  }

  private async applySlots(asked: Promise<SagaEvent[] | undefined>): Promise<void> {
    await asked.then(
      (events) => (events ? events.forEach((event) => this.run.record.apply(event)) : this.run.fence()),
      (error: unknown) => this.run.fenceAfter(error),
    );
  }

  /** That at-most-once steps begin is stored before they do. Others do not wait for that. */
  private async beginUnlimited(ready: readonly Action[]): Promise<void> {
    const recorded = ready.filter((action) => isAtMostOnce(action));
    this.startAtOnce(ready.filter((action) => !recorded.includes(action)));
    if (recorded.length === 0) return;
    const { run, writer } = this;
    const started = recorded.flatMap((action) => startOf(action) ?? []);
    const start = () => started.reduce((state, event) => evolve(run.record.graph, state, event), run.state);
    const result = await writer.save(() => writer.checkpointOf(start(), { actions: recorded }));
    if (result === 'saved' && !run.isLeaseSafe) await run.extendLease();
    if (result !== 'saved' || run.isFenced) return;
    // The process is to stop before its lease is safe: the next worker begins them, as if nothing were recorded.
    if (!run.isLeaseSafe)
      for (const { key } of recorded) run.record.apply({ type: 'start-withdrawn', step: key });
    else for (const action of recorded) this.starter.start(action);
  }

  private startAtOnce(actions: readonly Action[]): void {
    for (const action of actions) {
      const event = startOf(action);
      if (event) this.run.record.apply(event);
    }
    for (const action of actions) this.starter.start(action);
  }
}
