import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { StepAbortedError } from '../../libs/saga/src/errors.js';
import type { BeatWatch } from './beat-watch.js';
import type { HeartbeatChecker, ReportingAttempt } from './heartbeat-checker.js';
import type { Dice } from './rng.js';
import type { Promised } from './promises.js';
import type { Timeline } from './timeline.js';

/** When a method sends heartbeats. */
export interface Beating {
  /** How much longer it takes (ms). */
  readonly longer: number;
  /** Milliseconds between two heartbeats. */
  readonly interval: number;
  /** So many, and then no more, although it goes on. */
  readonly count: number;
}

/** The part of a participant that reports how far it is. */
export class StepReporter {
  constructor(
    private readonly timeline: Timeline,
    private readonly checker: HeartbeatChecker,
    private readonly violate: (promise: Promised, what: string) => void,
  ) {}

  /** Undefined: this call reports nothing. Steps with a `heartbeat` take long, and sometimes stop to report. */
  planOf({ heartbeat }: StepNode, kind: 'run' | 'undo', dice: Dice): Beating | undefined {
    const [isSilent, isLong, stops] = [dice.happens(0.15), dice.happens(0.6), dice.happens(0.25)];
    const [part, longer, some] = [dice.next(), dice.long(100, 8_000), dice.int(0, 6)];
    const reports = heartbeat !== undefined || dice.happens(0.2);
    if (!reports || isSilent) return undefined;
    const count = stops ? some : Infinity;
    if (heartbeat === undefined || kind === 'undo') return { longer: 0, interval: 5 + 500 * part, count };
    return { longer: isLong ? longer : 0, interval: heartbeat * (0.2 + 0.7 * part), count };
  }

  /** Until the answer is there, or nothing waits for it any more. */
  during<T>(attempt: ReportingAttempt, plan: Beating | undefined, answer: Promise<T>): Promise<T> {
    if (!plan && attempt.node.heartbeat === undefined) return answer;
    const watch = this.checker.watch(attempt);
    if (plan) this.beat(attempt, watch, plan.interval, plan.count);
    return answer.finally(() => watch.over());
  }

  private beat(attempt: ReportingAttempt, watch: BeatWatch, interval: number, left: number): void {
    if (left <= 0) return;
    this.timeline.after(
      interval,
      () => {
        if (!watch.isInProgress) return;
        this.report(attempt);
        watch.beat();
        this.beat(attempt, watch, interval, left - 1);
      },
      attempt.life,
    );
  }

  /** Nothing waits for the heartbeat: when its promise settles depends on the time that the simulation itself takes. */
  private report(attempt: ReportingAttempt): void {
    const { ctx } = attempt;
    const details = this.checker.next(attempt);
    ctx.progress({ percent: Math.min(100, details.n), message: `${details.n}` });
    ctx.heartbeat(details).catch((error: unknown) => {
      if (!(error instanceof StepAbortedError))
        this.violate('I37', `${details.of} may send no heartbeat while it is in progress: ${String(error)}`);
    });
  }
}
