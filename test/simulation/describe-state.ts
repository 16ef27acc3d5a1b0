import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';

/** A state in one line of the log. */
export function describeState(state: SagaState): string {
  const steps = [...state.steps].map(([key, { status, unknown, round, pruned, continued }]) => {
    return `${key}${round > 1 ? `~${round}` : ''} ${status}${unknown ? '?' : ''}${pruned ? ' (cut)' : ''}${continued ? ' (dropped)' : ''}`;
  });
  return `${state.status}${state.rollbackTo === undefined ? '' : ` to ${state.rollbackTo}`} [${steps.join(', ')}]`;
}
