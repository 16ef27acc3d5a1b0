import type { Action } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { serializeError } from '../payload/serialize-error.js';

/** That an attempt has begun, by what is to be done; of other actions nothing is to be known before they are done. */
const STARTED = {
  run: 'step-started',
  compensate: 'compensation-started',
  'undo-child': 'compensation-started',
  probe: 'probe-started',
} as const;

export function startOf({ kind, key }: Action): SagaEvent | undefined {
  return kind in STARTED ? { type: STARTED[kind as keyof typeof STARTED], step: key } : undefined;
}

/** That it begins is stored before it does. */
export function isAtMostOnce({ kind, node }: Action): boolean {
  return kind === 'run' && !node.idempotent;
}

/** That an attempt did what it was to do. */
export const ENDED: ReadonlySet<SagaEvent['type']> = new Set([
  'step-completed',
  'compensation-completed',
  'compensation-requested',
  'child-started',
]);

/** A cancellation that was accepted, and that the holder of the lease has now been notified of. */
export function cancellation(reason: string | undefined, now: number): SagaEvent {
  return { type: 'cancelled', reason, accepted: true, now };
}

/**
 * An attempt that fails before its method is called, by a function of what is stored already: to ask it again would give the same.
 * @param step its name, or the key of the item
 */
export function failedForGood(step: string, error: unknown, now: number): SagaEvent[] {
  const failed = { kind: 'error', unknown: false, retryable: false, random: 0 } as const;
  return [
    { type: 'step-started', step },
    { type: 'step-failed', step, error: serializeError(error), now, ...failed },
  ];
}
