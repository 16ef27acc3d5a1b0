import { awaitsSignal, type SagaState } from './saga-state.js';
import { KIND, TIMED } from './data/step-kinds.js';
import { ownStepsOfKinds } from './data/step-map.js';

/** A step that waits for an operator's decision. */
export interface OpenApproval {
  readonly step: string;
  /** When it began to wait; milliseconds since the epoch. */
  readonly since: number;
}

/**
 * The steps that wait for an operator's decision. None while the saga is not running: a paused saga goes on with them when it
 * is resumed.
 */
export function openApprovals({ status, steps }: SagaState): OpenApproval[] {
  const open: OpenApproval[] = [];
  if (status !== 'running') return open;
  for (const [step, one] of ownStepsOfKinds(steps, KIND.waiting | TIMED)) {
    const since = one.wait?.since;
    if (since !== undefined && awaitsSignal(one) && !one.pruned) open.push({ step, since });
  }
  return open;
}

/** All that wait after a change. Undefined: the same as before. */
export function openApprovalsAfter(before: SagaState, after: SagaState): OpenApproval[] | undefined {
  const [earlier, open] = [openApprovals(before), openApprovals(after)];
  const isSame =
    open.length === earlier.length &&
    open.every(({ step, since }) => earlier.some((one) => one.step === step && one.since === since));
  return isSame ? undefined : open;
}
