import type { Decision } from '../../machine/plan.js';
import type { SagaState } from '../../machine/saga-state.js';
import { TIMED } from '../../machine/step-kinds.js';
import { stepsOfKinds } from '../../machine/step-map.js';

/** Milliseconds. By default the first two waits of a step are shorter. */
const NEAR = 1_000;

/**
 * Is the next thing to happen another attempt of what failed, and soon? To give the saga back for that, and to claim it
 * again, costs more than the attempt, and leaves dead rows in two indexes.
 */
export function isNearRetry({ wakeAt }: Decision, { steps }: SagaState, now: number): boolean {
  if (wakeAt === undefined || wakeAt - now > NEAR) return false;
  for (const [, { retryAt, permit, failures, compensationFailures }] of stepsOfKinds(steps, TIMED, wakeAt))
    if (retryAt === wakeAt && permit === undefined && failures + compensationFailures > 0) return true;
  return false;
}

/** Does a saga of this name keep its lease, and its place, until then? */
export function staysFor(
  next: Decision,
  state: SagaState,
  name: string,
  { now, hasRoom }: { readonly now: () => number; readonly hasRoom: (name: string) => boolean },
): boolean {
  return isNearRetry(next, state, now()) && hasRoom(name);
}
