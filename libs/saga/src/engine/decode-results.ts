import { indexOfKey } from '../definition/saga-graph.js';
import { resultOf, type SagaState } from '../machine/saga-state.js';
import { decodePayload } from './payload.js';

/** The results of the steps that completed and stand, by step name. */
export function decodeResults(state: SagaState): Record<string, unknown> {
  const results: Record<string, unknown> = {};
  for (const [key, step] of state.steps) {
    if (step.status === 'completed' && !step.cut && indexOfKey(key) === undefined)
      results[key] = decodePayload(resultOf(state, key));
  }
  return results;
}
