import { indexOfKey } from '../../definition/graph/saga-graph.js';
import { type SagaState, isKept } from '../../machine/saga-state.js';
import { KIND } from '../../machine/data/step-kinds.js';
import { ownStepsOfKinds } from '../../machine/data/step-map.js';
import { resultOf } from '../../machine/step-endings.js';
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
  const keys = standing(state);
  TURN_BUDGET.spend(keys.length * CHARACTERS_PER_RESULT);
  // Not by assignment, for the sake of a step named __proto__.
  return Object.fromEntries(keys.map((key) => [key, decodePayload(resultOf(state, key))]));
}

function standing(state: SagaState): string[] {
  return [...ownStepsOfKinds(state.steps, KIND.completed)]
    .map(([key]) => key)
    .filter((key) => indexOfKey(key) === undefined && isKept(state, key));
}
