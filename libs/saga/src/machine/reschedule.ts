import { backsOff } from './predicates.js';
import type { EventOf } from './saga-event.js';
import {
  awaitsReply,
  awaitsSignal,
  isInProgress,
  type SagaState,
  type StepState,
  stepState,
} from './saga-state.js';
import { withStep } from './step-changes.js';
import { KIND, TIMED } from './data/step-kinds.js';
import { stepsOfKinds } from './data/step-map.js';

/** What ends at a time that an operator can move: a delay, a wait for a signal or a decision, the wait for another attempt. */
export type TimedWait = 'delay' | 'wait' | 'retry';

/**
 * What of this step, or item, ends at a time that can be moved. Undefined: nothing. One that the saga goes on without waits
 * for no time.
 */
export function timedWaitOf(state: SagaState, key: string): TimedWait | undefined {
  const { status } = state;
  if (!isInProgress(status) && status !== 'paused') return undefined;
  const step = stepState(state, key);
  if (awaitsReply(step)) return 'wait';
  if (backsOff(step)) return 'retry';
  if (awaitsSignal(step)) return 'wait';
  return isDelayed(step) ? 'delay' : undefined;
}

/** The steps, and items, that have such a time. */
export function rescheduleable(state: SagaState): string[] {
  return [...stepsOfKinds(state.steps, TIMED | KIND.waiting | KIND.compensating)].flatMap(([key]) =>
    timedWaitOf(state, key) === undefined ? [] : [key],
  );
}

/** An operator moves the end of a delay, of a wait, or of the time before another attempt. */
export function rescheduled(state: SagaState, { step: key, at }: EventOf<'rescheduled'>): SagaState {
  const wait = timedWaitOf(state, key);
  if (wait === undefined) return state;
  if (wait !== 'wait') return withStep(state, key, { retryAt: at });
  return withStep(state, key, { wait: { ...stepState(state, key).wait!, until: at } });
}

/** Whether the step has not begun, and no rate limit has said when it may. */
function isDelayed({ status, active, retryAt, permit, failures, child }: StepState): boolean {
  if (status !== 'waiting' || active || child !== undefined) return false;
  return retryAt !== undefined && permit === undefined && failures === 0;
}
