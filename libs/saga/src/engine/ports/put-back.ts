import type { Checkpoint } from './checkpoint.js';
import type { Lease, Parent } from './stored-saga.js';

/** The `epoch` and the `checkpoints` of a saga that was deleted: more than any saga has. */
export const BEYOND = 2_147_483_647;

/** The maximum time (ms) for which a process knows what it would put back: see `recoveryWindow`. */
export const LONGEST_RECOVERY_WINDOW = 3_600_000;

/**
 * A saga that was deleted is remembered for so long (ms), if it ended as lately: as long as a process may know it, and the
 * time of an outage more. Without it, a process would take the missing row for a start that was lost, and start it again.
 */
export const DELETION_KNOWN_FOR = 2 * LONGEST_RECOVERY_WINDOW;

/** How far a saga has come, as it is stored. */
export interface SagaRevision {
  readonly id: string;
  readonly epoch: number;
  /** The number of the last checkpoint. */
  readonly checkpoints: number;
}

/** A state that the database has lost in a failover, and a process has kept. */
export interface PutBack {
  /** The whole state. Its epoch is the saga's from now on, and so is its number. */
  readonly checkpoint: Checkpoint;
  /** The lease of the worker that still runs the saga. Undefined: no worker holds the saga. */
  readonly lease?: Lease;
  /** When the saga was started, if its start was lost as well; milliseconds since the epoch. Undefined: it was not. */
  readonly createdAt?: number;
  readonly parent?: Parent;
  /** The time of the row's last change: one before the failover, since others tell by it what happened after. */
  readonly storedAt: number;
}
