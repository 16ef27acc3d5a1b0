import type { StartResult } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Start } from './scenario.js';
import type { Life } from './timeline.js';

/** What came of a start, as whoever started it knows. */
export interface Started {
  readonly start: Start;
  readonly id: string;
  result?: StartResult;
  failed?: string;
  /** What whoever waited for it was told. */
  outcome?: string;
  /** The process that waits for it. */
  waits?: Life;
}
