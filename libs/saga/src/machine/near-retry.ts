import type { MachineDecision } from './plan.js';
import type { SagaState } from './saga-state.js';
import { TIMED } from './data/step-kinds.js';
import { stepsOfKinds } from './data/step-map.js';

/** Milliseconds. By default the first two waits of a step are shorter. */
const NEAR_RETRY_MS = 1_000;

/**
 * Is the next thing to happen another attempt of what failed, and soon? To give the saga back for that, and to claim it
 * again, costs more than the attempt, and leaves dead rows in two indexes.
 */
export function isNearRetry({ wakeAt }: MachineDecision, { steps }: SagaState, now: number): boolean {
  if (wakeAt === undefined || wakeAt - now > NEAR_RETRY_MS) return false;
  for (const [, { retryAt, permit, failures, compensationFailures }] of stepsOfKinds(steps, TIMED, wakeAt))
    if (retryAt === wakeAt && permit === undefined && failures + compensationFailures > 0) return true;
  return false;
}
