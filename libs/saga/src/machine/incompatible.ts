import type { SagaEvent } from './saga-event.js';
import { isInProgress, type SagaState, stepState } from './saga-state.js';
import { changeState } from './change-state.js';
import { withError, withStep } from './step-changes.js';

/**
 * Stops the saga before anything starts that could not be ended. The saga is stuck, and each step concerned records the
 * reason. After a retry it continues, once the code has what it lacked.
 */
export function incompatible(
  state: SagaState,
  { missing, fix, now }: Extract<SagaEvent, { type: 'code-missing' }>,
): SagaState {
  const { status, failure } = state;
  const [first] = missing;
  if (!isInProgress(status) || !first) return state;
  const during = status === 'running' ? 'step' : 'compensation';
  const errorOf = (problem: string) => ({
    name: 'SagaDriftError',
    code: 'SAGA_DRIFT',
    message: `${problem}. ${fix}`,
  });
  let next = state;
  for (const { step, problem } of missing)
    next = withStep(next, step, { errors: withError(stepState(next, step), errorOf(problem), now, during) });
  const error = errorOf(missing.map(({ problem }) => problem).join('; '));
  // The compensations receive the failure that made the saga compensate.
  return changeState(next, {
    status: 'stuck',
    heldPhase: status,
    failure: failure ?? { kind: 'error', step: first.step, error },
  });
}
