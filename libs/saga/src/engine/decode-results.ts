import { indexOfKey } from '../definition/saga-graph.js';
import { resultOf, type SagaState, stands } from '../machine/saga-state.js';
import { decodePayload } from './payload.js';

/** The results of the steps that completed and stand, by step name, as the JSON text of one object. */
export function resultsText(state: SagaState): string {
  const parts: string[] = [];
  for (const key of standing(state)) {
    const text = resultOf(state, key);
    if (text !== undefined) parts.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${parts.join(',')}}`;
}

/** The results of the steps that completed and stand, by step name. */
export function decodeResults(state: SagaState): Record<string, unknown> {
  const results: Record<string, unknown> = {};
  for (const key of standing(state)) results[key] = decodePayload(resultOf(state, key));
  return results;
}

function standing(state: SagaState): string[] {
  return [...state.steps.keys()].filter((key) => indexOfKey(key) === undefined && stands(state, key));
}
