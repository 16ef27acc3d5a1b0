import type { SagaEvent } from './saga-event.js';
import type { SagaState } from './saga-state.js';
import { withError, withStep } from './step-changes.js';

/**
 * The saga stops before anything is begun that could not be ended: it is stuck, each step concerned says why, and
 * retried it goes on as it was, once the code has what it lacked.
 */
export function incompatible(
  state: SagaState,
  { missing, fix, now }: Extract<SagaEvent, { type: 'code-missing' }>,
): SagaState {
  const { status, failure } = state;
  const [first] = missing;
  if ((status !== 'running' && status !== 'compensating') || !first) return state;
  const during = status === 'running' ? 'step' : 'compensation';
  const errorOf = (problem: string) => ({
    name: 'SagaDriftError',
    code: 'SAGA_DRIFT',
    message: `${problem}. ${fix}`,
  });
  let next = state;
  for (const { step, problem } of missing)
    next = withStep(next, step, (s) => ({ ...s, errors: withError(s, errorOf(problem), now, during) }));
  const error = errorOf(missing.map(({ problem }) => problem).join('; '));
  // What made it compensate is what its compensations are told.
  return {
    ...next,
    status: 'stuck',
    heldPhase: status,
    failure: failure ?? { kind: 'error', step: first.step, error },
  };
}
