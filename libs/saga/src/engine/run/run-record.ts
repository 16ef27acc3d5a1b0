import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { SerializedError } from '../../definition/types/saga-failure.js';
import { evolve } from '../../machine/evolve.js';
import { follow, type Followed, type SignalFor } from '../../machine/follow.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { relationsOf } from '../../machine/graph-relations.js';
import { isSettled, type SagaState, stepState } from '../../machine/saga-state.js';
import { StepMap } from '../../machine/data/step-map.js';
import { NOTHING } from '../../shared/empty-array.js';

/** Who takes over derives these: what was due may have begun. A delay is recorded, since nothing is due before it. */
const UNRECORDED: ReadonlySet<SagaEvent['type']> = new Set([
  'step-started',
  'compensation-started',
  'probe-started',
  'rate-limit-granted',
  'slot-awaited',
  'slot-granted',
  'turn-granted',
  'begun',
  // A signal is stored already. It is taken with the checkpoint of the step that received it.
  'signalled',
]);

/** What has happened to a saga while a worker holds it, and how much of that is stored. */
export class RunRecord {
  state: SagaState;
  saved: SagaState;
  /** Something has happened that is to be recorded before anything follows from it. */
  hasNews = false;
  /** What happened since the last checkpoint. */
  private unsaved: SagaEvent[] = NOTHING;
  /** Events since the state of the transaction in progress was staged. */
  private sinceStaged: SagaEvent[] | undefined;
  /** What follows from a state stays so until something happens, or the time comes that it names. */
  private decided: { readonly for: SagaState; readonly decision: Followed['decision'] } | undefined;

  constructor(
    readonly graph: SagaGraph,
    stored: SagaState,
    private readonly now: () => number,
    private readonly signalFor?: SignalFor,
  ) {
    this.state = this.saved = stored;
  }

  /** Is there anything to store? */
  get isSaved(): boolean {
    return this.state === this.saved;
  }

  /** What happened so far was before this run: who takes over derives it anew, but for a turn that the saga took. */
  begin(): void {
    // What is undone must be known to be compensating, and what happens again to do so.
    const { status, round, rollbackTo, pendingRollback, overtaken } = this.saved;
    this.hasNews =
      status !== this.state.status ||
      round !== this.state.round ||
      rollbackTo !== this.state.rollbackTo ||
      pendingRollback !== this.state.pendingRollback ||
      overtaken !== this.state.overtaken ||
      this.goesOnWithout;
  }

  /** The saga continues without a step from now on: an optional one, or one that lost in a join any. */
  private get goesOnWithout(): boolean {
    const { saved, state, graph } = this;
    const { hasOptional, hasJoinAny } = relationsOf(graph);
    if (!hasOptional && !hasJoinAny) return false;
    return this.changedIn(state).some((key) => {
      const [before, after] = [stepState(saved, key), stepState(state, key)];
      return before.continued !== after.continued || before.pruned !== after.pruned;
    });
  }

  apply(event: SagaEvent): void {
    const before = this.state;
    this.state = evolve(this.graph, before, event);
    if (this.state !== before && !UNRECORDED.has(event.type)) this.hasNews = true;
    if (this.unsaved === NOTHING) this.unsaved = [event];
    else this.unsaved.push(event);
    this.sinceStaged?.push(event);
  }

  /** What to do next, once everything has happened that follows without doing anything. */
  decide(): Followed['decision'] {
    const now = this.now();
    const { decided, signalFor } = this;
    if (decided?.for === this.state && !(decided.decision.wakeAt! <= now) && !signalFor?.(this.state))
      return decided.decision;
    const { decision, events } = follow(this.graph, this.state, now, signalFor);
    for (const event of events) this.apply(event);
    this.decided = { for: this.state, decision };
    return decision;
  }

  /** The state is stored. */
  saveAs(state: SagaState): void {
    this.state = this.saved = state;
    this.unsaved = NOTHING;
    this.hasNews = false;
  }

  /** A transaction is about to store what this event leads to; what happens meanwhile comes after it. */
  stage(event: SagaEvent): Followed {
    this.sinceStaged = [];
    return follow(this.graph, evolve(this.graph, this.state, event), this.now(), this.signalFor);
  }

  /** What was staged is stored. */
  adopt(candidate: SagaState): void {
    const meanwhile = this.sinceStaged ?? [];
    this.sinceStaged = undefined;
    this.saveAs(candidate);
    // The lease is given back with what settles the saga: what came since is not for this run any more.
    if (!isSettled(candidate.status)) for (const event of meanwhile) this.apply(event);
  }

  /** The results of these steps cannot be stored: the same has happened since the last checkpoint, but that they failed. */
  refuse(steps: readonly string[], error: SerializedError): void {
    const refused = { kind: 'error', unknown: true, retryable: false, random: 0 } as const;
    const failed = { ...refused, error, now: this.now() };
    const events = this.unsaved;
    this.state = this.saved;
    this.unsaved = NOTHING;
    for (const event of events) {
      const isRefused = event.type === 'step-completed' && steps.includes(event.step);
      this.apply(isRefused ? { type: 'step-failed', step: event.step, ...failed } : event);
    }
  }

  /** The steps, and items, of which this state has something new to store. */
  changedIn(state: SagaState): string[] {
    const { steps } = state;
    const since = steps instanceof StepMap ? steps.changesSince(this.saved.steps) : undefined;
    if (since) return since.map(([key]) => key);
    let changed: string[] = NOTHING;
    steps.forEach((step, key) => {
      if (this.saved.steps.get(key) === step) return;
      if (changed === NOTHING) changed = [key];
      else changed.push(key);
    });
    return changed;
  }

  /** None of these steps, and items, was stored before. */
  isNew(keys: readonly string[]): boolean {
    for (const key of keys) if (this.saved.steps.has(key)) return false;
    return true;
  }
}
