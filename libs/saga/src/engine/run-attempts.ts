import type { SagaGraph } from '../definition/saga-graph.js';
import { StepAbortedError } from '../errors/saga-errors.js';
import type { Action } from '../machine/decide.js';
import { goesOn } from '../machine/failures.js';
import type { SagaState } from '../machine/saga-state.js';
import type { StepAttempt } from './step-attempt.js';

/** What is under way of one run, and how it is told to break off. */
export class RunAttempts extends Set<StepAttempt> {
  /** Is an attempt of this step, or item, under way? */
  includes(key: string): boolean {
    return [...this].some(({ step }) => step === key);
  }

  abort(trigger: StepAbortedError['trigger'], message: string, only?: Action['kind']): void {
    for (const attempt of this) {
      if (only === undefined || attempt.action.kind === only)
        attempt.abort(new StepAbortedError(message, trigger));
    }
  }

  /**
   * What is under way going forward and not wanted any more: the saga turns back, or another branch was faster.
   * Not probes: what they find out is what has to be undone.
   */
  abortObsolete(graph: SagaGraph, state: SagaState): void {
    for (const attempt of this) {
      const { kind, node } = attempt.action;
      if (kind === 'run' && !goesOn(graph, state, node.name))
        attempt.abort(new StepAbortedError('What this step does is not wanted any more', 'cancelled'));
    }
  }
}
