import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { awaitsReply, awaitsSignal, isInProgress, type SagaState } from '../../machine/saga-state.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { KIND, TIMED } from '../../machine/data/step-kinds.js';
import { ownStepsOfKinds } from '../../machine/data/step-map.js';
import { refusalIn } from '../operate/approvals.js';
import { nextSignal } from '../operate/edit-by-events.js';
import type { StoredSignal } from '../ports/stored-saga.js';
import type { RunRecord } from './run-record.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/** What a saga was sent from outside, until a step takes it. */
export class RunSignals {
  private known = 0;
  private kept: StoredSignal[] = [];

  constructor(
    private readonly id: string,
    private readonly graph: SagaGraph,
    stored: readonly StoredSignal[] | undefined,
    /** All that was sent before this time is known. */
    private asOf: number,
    private readonly ports: Pick<SagaRunPorts, 'pendingSignals' | 'now'>,
  ) {
    this.keep(stored ?? []);
  }

  /** The next that was sent for a step of this state. */
  next(state: SagaState, signals = this.kept): SagaEvent | undefined {
    return nextSignal(this.graph, state, signals, this.ports.now());
  }

  /** Lets steps take what was sent for them, but refusals: nothing follows from these before they are recorded. */
  give(run: RunRecord): void {
    const signals = this.kept.filter(({ name, payload }) => refusalIn(name, payload) === undefined);
    for (let event = this.next(run.state, signals); event; event = this.next(run.state, signals))
      run.apply(event);
  }

  /** Something may have come; true: something has. */
  async look(): Promise<boolean> {
    const [before, asOf] = [this.known, this.ports.now()];
    this.keep(await this.ports.pendingSignals(this.id));
    this.asOf = Math.max(this.asOf, asOf);
    return this.known > before;
  }

  /** Undefined: no wait is over of which this run may not know that its signal has come. */
  lookInTime(state: SagaState): Promise<boolean> | undefined {
    const now = this.ports.now();
    return this.knownTime(state, now) < now ? this.look() : undefined;
  }

  /** The time, but before the end of a wait whose signal may have arrived without a hint to this run. */
  knownTime(state: SagaState, now = this.ports.now()): number {
    let time = now;
    const { status, steps } = state;
    if (!isInProgress(status)) return time;
    for (const [, step] of ownStepsOfKinds(steps, KIND.waiting | KIND.compensating | TIMED)) {
      const { until = Infinity } = step.wait ?? {};
      const awaits = awaitsReply(step) || (status === 'running' && awaitsSignal(step));
      if (until <= time && until > this.asOf && awaits) time = until - 1;
    }
    return time;
  }

  /** Forgets the signals that were taken, as far as that is stored. */
  forget({ lastTakenSignals = {} }: SagaState): void {
    if (this.kept.length > 0)
      this.kept = this.kept.filter(({ name, number }) => number > (lastTakenSignals[name] ?? 0));
  }

  private keep(signals: readonly StoredSignal[]): void {
    const fresh = signals.filter(({ number }) => number > this.known);
    this.kept.push(...fresh);
    this.known = fresh.at(-1)?.number ?? this.known;
  }
}
