import { itemKey, type SagaGraph, stepOfKey } from '../definition/graph/saga-graph.js';
import { isDone, needsUndo } from './predicates.js';
import { goesOn } from './failures.js';
import { winRaces } from './join-any.js';
import { type SagaState, stepState } from './saga-state.js';
import { withStep } from './step-changes.js';
import { itemsToLookAt } from './step-map.js';

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
    if (status !== 'running' || !areDone(next, name, items!)) return next;
    next = withStep(next, name, (s) => ({ ...s, status: 'completed' }));
  }
  // What is about to be undone wins nothing.
  return goesOn(graph, next, name) ? winRaces(graph, next, name) : next;
}

function areDone(state: SagaState, name: string, items: readonly string[]): boolean {
  // They begin in their order: mostly it is the last one that is not done.
  if (items.length > 0 && !isDone(stepState(state, itemKey(name, items.length - 1)))) return false;
  const { open, begun } = itemsToLookAt(state.steps, name, items);
  return begun === items.length && open.every((index) => isDone(stepState(state, itemKey(name, index))));
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
  const isUndone = (index: number) => {
    const item = stepState(next, itemKey(name, index));
    return (
      !item.active &&
      item.status !== 'compensating' &&
      item.status !== 'compensation_failed' &&
      !needsUndo(node, item)
    );
  };
  const items = stepState(next, name).items!;
  // They are undone in their order, too: mostly it is the last one that is not.
  if (!isUndone(items.length - 1)) return next;
  const undone = itemsToLookAt(next.steps, name, items).standing.every(isUndone);
  return undone ? withStep(next, name, (s) => ({ ...s, status: 'compensated' })) : next;
}
