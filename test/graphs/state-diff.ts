import { isDeepStrictEqual } from 'node:util';
import { PENDING, type SagaState, type StepState } from '../../libs/saga/src/machine/saga-state.js';

/** In what a stored state differs from the one that the machine tells, but for when things are due. */
export function differenceOf(
  stored: SagaState,
  expected: SagaState,
  inProgress: ReadonlySet<string>,
): string | undefined {
  const [left, right] = [summaryOf(stored, inProgress), summaryOf(expected, inProgress)];
  const different = [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(
    (key) => !isDeepStrictEqual(left[key], right[key]),
  );
  if (different.length === 0) return undefined;
  return different
    .map((key) => `${key} is stored as ${JSON.stringify(left[key])}, should be ${JSON.stringify(right[key])}`)
    .join('\n');
}

/** Without the steps in progress: their start is stored later, or never. */
function summaryOf(state: SagaState, inProgress: ReadonlySet<string>): Record<string, unknown> {
  const { status, heldPhase, round, rollbackTo, failure } = state;
  const steps = [...state.steps]
    .filter(([key]) => !inProgress.has(key))
    .map(([key, step]) => [key, summaryOfStep(step)] as const)
    .filter(([, step]) => !isDeepStrictEqual(step, UNTOUCHED));
  return {
    ...{ status, heldPhase, round, rollbackTo },
    failure: failure && { kind: failure.kind, step: failure.step },
    ...Object.fromEntries(steps),
  };
}

/** Without which worker lost an attempt, and when: that is of real time, and changes nothing. */
function summaryOfStep({
  errors,
  active: _active,
  retryAt: _retryAt,
  lost: _lost,
  ...step
}: StepState): object {
  // What is not set is left out.
  return JSON.parse(JSON.stringify({ ...step, errors: errors.length })) as object;
}

const UNTOUCHED = summaryOfStep(PENDING);
