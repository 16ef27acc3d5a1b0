import type { Checkpoint } from './checkpoint.js';
import type { Lease, Parent } from './stored-saga.js';

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
