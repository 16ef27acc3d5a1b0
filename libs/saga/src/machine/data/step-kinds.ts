import type { StepStatus } from '../../definition/types/saga-status.js';
import { awaitsSlot, type StepState } from '../saga-state.js';

/** How a step or an item stands, as one bit: a search of many steps skips the kinds that it does not look for. */
export const KIND = {
  /** An attempt is in progress, whatever its status. */
  active: 1,
  /** The step's next attempt waits for a time, or was to. */
  timed: 2,
  /** The next attempt of the step's compensation waits for a time, or was to. */
  timedBack: 4,
  pending: 8,
  waiting: 16,
  running: 32,
  completed: 64,
  skipped: 128,
  failed: 256,
  /** The step failed, and may have taken effect. */
  inDoubt: 512,
  compensating: 1_024,
  compensated: 2_048,
  compensationFailed: 4_096,
  /** The step waits for a slot of its limit over all sagas. */
  queued: 8_192,
  /** Nothing has happened to it. */
  missing: 16_384,
} as const;

const BY_STATUS: Readonly<Record<StepStatus, number>> = {
  pending: KIND.pending,
  running: KIND.running,
  waiting: KIND.waiting,
  completed: KIND.completed,
  skipped: KIND.skipped,
  failed: KIND.failed,
  compensating: KIND.compensating,
  compensated: KIND.compensated,
  compensation_failed: KIND.compensationFailed,
};

export const STEP_STATUSES = Object.keys(BY_STATUS) as readonly StepStatus[];

/** The kind of a step or an item; undefined: nothing has happened to it. */
export function kindOf(step: StepState | undefined): number {
  if (step === undefined) return KIND.missing;
  if (step.active) return KIND.active;
  const { status } = step;
  if (step.retryAt !== undefined) {
    if (status === 'waiting' || status === 'pending') return KIND.timed;
    if (status === 'compensating') return KIND.timedBack;
  }
  if (awaitsSlot(step)) return KIND.queued;
  return status === 'failed' && step.unknown ? KIND.inDoubt : BY_STATUS[status];
}

/** Done going forward. */
export const DONE = KIND.completed | KIND.skipped;
export const FAILED = KIND.failed | KIND.inDoubt;
/** Waits for a time. */
export const TIMED = KIND.timed | KIND.timedBack;
/** Whatever has happened to it. */
export const ALL = KIND.missing - 1;
