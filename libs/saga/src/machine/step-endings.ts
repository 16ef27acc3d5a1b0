import { itemKey, type SagaGraph, stepOfKey } from '../definition/saga-graph.js';
import { isDone, needsUndo } from './decide.js';
import { goesOn } from './failures.js';
import { winRaces } from './races.js';
import { type SagaState, stepState } from './saga-state.js';
import { withStep } from './step-changes.js';

/** A step, or an item, is done, and with its last item the fan-out. */
export function completed(
  graph: SagaGraph,
  state: SagaState,
  key: string,
  result: string | undefined,
): SagaState {
  const name = stepOfKey(key);
  let next = withStep(state, key, (s) => ({
    ...s,
    status: 'completed',
    unknown: false,
    result,
    retryAt: undefined,
    wait: undefined,
    active: false,
  }));
  if (key !== name) {
    const { items, status } = stepState(next, name);
    if (status !== 'running' || !items!.every((_, n) => isDone(stepState(next, itemKey(name, n)))))
      return next;
    next = withStep(next, name, (s) => ({ ...s, status: 'completed' }));
  }
  // What is about to be undone wins nothing.
  return goesOn(graph, next, name) ? winRaces(graph, next, name) : next;
}

/** A step, or an item, is undone, and with its last item the fan-out. */
export function compensated(graph: SagaGraph, state: SagaState, key: string): SagaState {
  const next = withStep(state, key, (s) => ({
    ...s,
    status: 'compensated',
    retryAt: undefined,
    active: false,
  }));
  const name = stepOfKey(key);
  const node = graph.steps.get(name);
  if (key === name || node === undefined) return next;
  const undone = stepState(next, name).items!.every((_, index) => {
    const item = stepState(next, itemKey(name, index));
    return (
      !item.active &&
      item.status !== 'compensating' &&
      item.status !== 'compensation_failed' &&
      !needsUndo(node, item)
    );
  });
  return undone ? withStep(next, name, (s) => ({ ...s, status: 'compensated' })) : next;
}
