import { type SagaState, stepState } from './saga-state.js';
import { itemsOf } from './step-map.js';

/** What a step came to, as JSON text: of a fan-out the array of its items' results. */
export function resultOf(state: SagaState, name: string): string | undefined {
  const { result, items, status } = stepState(state, name);
  if (result !== undefined || items === undefined || status !== 'completed') return result;
  const tree = itemsOf(state.steps, name);
  return `[${items.map((_, index) => tree.get(index)?.result ?? 'null').join(',')}]`;
}
