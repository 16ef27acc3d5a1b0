import { type LostAttempt, type LostLease, type SagaState, type StepState, stepState } from './saga-state.js';
import { withStep } from './step-changes.js';

/** Lost attempts kept per step. */
const LOST_KEPT = 5;

/**
 * Records an attempt that no worker finishes. `lease`: the lease that ran out. A time: the worker released the attempt
 * then.
 */
export function withLoss(
  before: SagaState,
  after: SagaState,
  key: string,
  lease: LostLease | number | undefined,
): SagaState {
  const was = stepState(before, key);
  if (lease === undefined || after === before) return after;
  const lost = lostAttempt(was, stepState(after, key), lease);
  // The probe of an attempt may be lost again and again.
  if (was.lost?.some(({ attempt, during }) => attempt === lost.attempt && during === lost.during))
    return after;
  return withStep(after, key, { lost: [...(stepState(after, key).lost ?? []), lost].slice(-LOST_KEPT) });
}

function lostAttempt(was: StepState, is: StepState, lease: LostLease | number): LostAttempt {
  const isForward = was.status === 'pending' || was.status === 'waiting' || was.status === 'running';
  const which = isForward
    ? ({ attempt: is.attempts, during: 'step' } as const)
    : ({ attempt: is.compensationAttempts, during: 'compensation' } as const);
  if (typeof lease === 'number') return { ...which, lostAt: lease };
  const { worker, from, until, takenOver } = lease;
  const startedAt = Math.min(Math.max(from, was.retryAt ?? 0), until);
  return { ...which, worker, startedAt, lostAt: until, takenOverAt: takenOver };
}
