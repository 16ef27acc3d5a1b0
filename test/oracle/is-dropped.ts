import type { StepState } from '../../libs/saga/src/machine/saga-state.js';

/** The saga goes forward without this step: it lost a join any, or is optional and failed permanently. */
export function isDropped({ pruned, continued }: Pick<StepState, 'pruned' | 'continued'>): boolean {
  return pruned || continued === true;
}
