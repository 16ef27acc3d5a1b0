import type { StepState } from './saga-state.js';
import { changeStep } from './change-state.js';
import { changedSteps } from './step-map.js';

/**
 * The keys of the steps and items whose stored state differs. A copy with equal content does not differ, and `active` is not
 * stored.
 */
export function differingSteps(
  before: ReadonlyMap<string, StepState>,
  after: ReadonlyMap<string, StepState>,
): string[] {
  return changedSteps(before, after)
    .filter(([key, step]) => !isEqual(stored(before.get(key)), stored(step)))
    .map(([key]) => key);
}

function stored(step: StepState | undefined): StepState | undefined {
  return step && changeStep(step, { active: false });
}

/** Compares plain objects and arrays. A property that is undefined equals one that is absent. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isEqual(a[key], b[key]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
