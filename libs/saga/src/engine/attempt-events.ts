import type { SagaEvent } from '../machine/saga-event.js';

/** That an attempt has begun, by what is to be done; of other actions nothing is to be known before they are done. */
export const STARTED = {
  run: 'step-started',
  compensate: 'compensation-started',
  'undo-child': 'compensation-started',
  probe: 'probe-started',
} as const;

/** That an attempt did what it was to do. */
export const ENDED: ReadonlySet<SagaEvent['type']> = new Set([
  'step-completed',
  'compensation-completed',
  'child-started',
]);
