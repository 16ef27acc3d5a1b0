import { indexOfKey } from '../../definition/graph/saga-graph.js';
import { type SagaState, isKept } from '../../machine/saga-state.js';
import { KIND } from '../../machine/step-kinds.js';
import { ownStepsOfKinds } from '../../machine/step-map.js';
import { resultOf } from '../../machine/step-results.js';
import { TURN_BUDGET } from '../../shared/turn-budget.js';
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

/** What it takes to find a result and to name it, in characters of payloads. */
const CHARACTERS_PER_RESULT = 100;

/** The results of the steps that completed and stand, by step name. */
export function decodeResults(state: SagaState): Record<string, unknown> {
  const results: Record<string, unknown> = {};
  const keys = standing(state);
  TURN_BUDGET.spend(keys.length * CHARACTERS_PER_RESULT);
  for (const key of keys) {
    const value = decodePayload(resultOf(state, key));
    // An assignment would change the prototype.
    if (key === '__proto__') Object.defineProperty(results, key, { value, ...ORDINARY });
    else results[key] = value;
  }
  return results;
}

const ORDINARY = { enumerable: true, configurable: true, writable: true };

function standing(state: SagaState): string[] {
  const keys: string[] = [];
  for (const [key] of ownStepsOfKinds(state.steps, KIND.completed))
    if (indexOfKey(key) === undefined && isKept(state, key)) keys.push(key);
  return keys;
}
