import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { StepAbortedError } from '../../errors.js';
import type { Action } from '../../machine/plan.js';
import { goesOn } from '../../machine/failures.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import { NOTHING } from '../../shared/empty-array.js';
import type { StepAttempt } from '../attempt/step-attempt.js';

/** The attempts in progress of one run, and how they are aborted. An array, because there is mostly one at most. */
export class RunAttempts {
  private attempts: StepAttempt[] = NOTHING;

  get size(): number {
    return this.attempts.length;
  }

  get all(): readonly StepAttempt[] {
    return this.attempts;
  }

  has(attempt: StepAttempt): boolean {
    return this.attempts.includes(attempt);
  }

  /** Is an attempt of this step, or item, in progress? */
  includes(key: string): boolean {
    return this.attempts.some(({ step }) => step === key);
  }

  add(attempt: StepAttempt): void {
    if (this.attempts === NOTHING) this.attempts = [attempt];
    else this.attempts.push(attempt);
  }

  delete(attempt: StepAttempt): void {
    const place = this.attempts.indexOf(attempt);
    if (place < 0) return;
    if (this.attempts.length === 1) this.clear();
    else this.attempts.splice(place, 1);
  }

  clear(): void {
    this.attempts = NOTHING;
  }

  abort(trigger: StepAbortedError['trigger'], message: string, only?: Action['kind']): void {
    for (const attempt of this.attempts) {
      if (only === undefined || attempt.action.kind === only)
        attempt.abort(new StepAbortedError(message, trigger));
    }
  }

  /** Not while a pivot decides whether the saga is cancelled: its attempt, and those beside it, go on. */
  abortCancelled({ status }: SagaState): void {
    if (status === 'compensating') this.abort('cancelled', 'The saga is being cancelled', 'run');
  }

  /**
   * What is in progress going forward and not wanted any more: the saga compensates, or another branch was faster.
   * Not probes: what they find out is what has to be undone.
   */
  abortObsolete(graph: SagaGraph, state: SagaState): void {
    for (const attempt of this.attempts) {
      const { kind, node } = attempt.action;
      if (kind === 'run' && !goesOn(graph, state, node.name))
        attempt.abort(new StepAbortedError(whyObsolete(state, node.name), 'cancelled'));
    }
  }
}

function whyObsolete(state: SagaState, step: string): string {
  return stepState(state, step).continued
    ? 'Another item failed permanently, and the saga continues without this step, so that it is cancelled'
    : 'Another branch completed first, so that this step is cancelled';
}
