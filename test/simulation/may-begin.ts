import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';

/**
 * Whether the graph lets this step begin, by what is recorded. A step waits for all of its `after`, a join any for the first
 * of them that completes. A step that is skipped, or optional and failed, is passed by. A join any that only such steps are
 * left of begins without a winner; its losers do not count, however they ended.
 */
export function mayBegin(state: SagaState, { after, join }: StepNode): boolean {
  const before = after.map((name) => stepState(state, name));
  const isPassedBy = ({ status, continued }: (typeof before)[number]) =>
    status === 'skipped' || continued === true;
  if (join === 'all' || after.length < 2)
    return before.every((step) => step.status === 'completed' || isPassedBy(step));
  const left = before.filter(({ pruned }) => !pruned);
  if (left.some(({ status }) => status === 'completed')) return true;
  return left.length > 0 && left.every(isPassedBy);
}
