import { type SagaGraph, stepOfKey } from '../definition/graph/saga-graph.js';
import { isDone, mayNeedUndo, needsUndo } from './predicates.js';
import { goesOn } from './failures.js';
import { winRaces } from './join-any.js';
import { type SagaState, type StepState, stepState } from './saga-state.js';
import { withStep } from './step-changes.js';
import { DONE } from './data/step-kinds.js';
import { itemsOf } from './data/step-map.js';

/** A step, or an item, is done, and with its last item the fan-out. */
export function completed(
  graph: SagaGraph,
  state: SagaState,
  key: string,
  result: string | undefined,
): SagaState {
  const name = stepOfKey(key);
  let next = withStep(state, key, {
    status: 'completed',
    unknown: false,
    result,
    retryAt: undefined,
    wait: undefined,
    slot: undefined,
    active: false,
  });
  if (key !== name) {
    const { items, status } = stepState(next, name);
    if (status !== 'running' || !areDone(next, name, items!)) return next;
    next = withStep(next, name, { status: 'completed' });
  }
  // What is about to be undone wins nothing.
  return goesOn(graph, next, name) ? winRaces(graph, next, name) : next;
}

/** Completes fan-outs whose last item completed while the saga was not going forward. */
export function completedFanOuts(graph: SagaGraph, state: SagaState): SagaState {
  let next = state;
  for (const { name, forEach } of graph.steps.values()) {
    const { items, status } = stepState(next, name);
    if (!forEach || !items || status !== 'running' || !areDone(next, name, items)) continue;
    next = withStep(next, name, { status: 'completed' });
    if (goesOn(graph, next, name)) next = winRaces(graph, next, name);
  }
  return next;
}

function areDone(state: SagaState, name: string, items: readonly string[]): boolean {
  const isOpen = (_: number, item?: StepState) => item === undefined || !isDone(item);
  return !itemsOf(state.steps, name).search(items.length, ({ kinds }) => (kinds & ~DONE) !== 0, isOpen);
}

/** A step, or an item, is undone, and with its last item the fan-out. */
export function compensated(graph: SagaGraph, state: SagaState, key: string): SagaState {
  const next = withStep(state, key, {
    status: 'compensated',
    retryAt: undefined,
    wait: undefined,
    active: false,
  });
  const name = stepOfKey(key);
  const node = graph.steps.get(name);
  if (key === name || node === undefined) return next;
  const isLeft = (_: number, item?: StepState) =>
    item !== undefined &&
    (item.active ||
      item.status === 'compensating' ||
      item.status === 'compensation_failed' ||
      needsUndo(node, item));
  const kindsLeft = mayNeedUndo(node);
  const isAnyLeft = itemsOf(next.steps, name).search(
    stepState(next, name).items!.length,
    ({ kinds }) => (kinds & kindsLeft) !== 0,
    isLeft,
  );
  return !isAnyLeft ? withStep(next, name, { status: 'compensated' }) : next;
}

/** What a step came to, as JSON text: of a fan-out the array of its items' results. */
export function resultOf(state: SagaState, name: string): string | undefined {
  const { result, items, status } = stepState(state, name);
  if (result !== undefined || items === undefined || status !== 'completed') return result;
  const tree = itemsOf(state.steps, name);
  return `[${items.map((_, index) => tree.get(index)?.result ?? 'null').join(',')}]`;
}
