import type { Action } from '../../machine/plan.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import { permitSlack } from '../../machine/turn.js';

/** A process that was stopped for a while is not that slow. */
const LONGEST_LEAD = 10_000;

/** Is this an attempt of a step with a rate limit that has no time from it yet, or let it pass? */
export function needsPermit({ kind, node, key }: Action, state: SagaState, now: number): boolean {
  if (kind !== 'run' || !node.rateLimit) return false;
  const { permit } = stepState(state, key);
  return permit === undefined || now > permit + permitSlack(node.rateLimit.per);
}

/** A time of the store, as this process sees it: what may begin at once is due here too, whose clock is behind. */
export function mayBegin(time: number, storeNow: number, now: number): number {
  return time <= storeNow ? Math.min(time, now) : time;
}

/**
 * The time before a permit at which this process must hold the attempt. If answers take longer than a permit is valid,
 * permits are requested for later times. An attempt that waits for one is taken up before it is due.
 */
export class PermitLead {
  /** Milliseconds; 0 where answers are quick. */
  lead = 0;

  /** An answer of a limit with this slack took so long (ms). */
  answered(took: number, slack: number): void {
    this.lead = took > slack / 2 ? Math.min(LONGEST_LEAD, 2 * took) : 0;
  }
}
