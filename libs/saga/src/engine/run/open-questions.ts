import { approvalSignal } from '../../definition/graph/saga-graph.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { awaitsReply, awaitsSignal, isInProgress } from '../../machine/saga-state.js';

/** A signal or a decision that a saga waits for. */
export interface OpenQuestion {
  readonly kind: 'signal' | 'approval';
  /** The name of the signal, or of the approval's step. */
  readonly name: string;
}

/** Everything that a saga waits for and was not sent: parallel branches may each wait for something. */
export function openQuestions({ state, signals = [] }: StoredSaga): OpenQuestion[] {
  const { status } = state;
  if (!isInProgress(status)) return [];
  const sent = signals.map(({ name }) => name);
  return [...state.steps].flatMap(([step, one]): OpenQuestion[] => {
    const awaits = awaitsReply(one) || (status === 'running' && awaitsSignal(one) && !one.pruned);
    if (!awaits) return [];
    const { signal } = one.wait!;
    const at = sent.indexOf(signal);
    if (at >= 0) {
      // Steps that wait for one name take one signal each.
      sent.splice(at, 1);
      return [];
    }
    return [
      signal === approvalSignal(step) ? { kind: 'approval', name: step } : { kind: 'signal', name: signal },
    ];
  });
}
