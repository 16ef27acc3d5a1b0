import { isTerminal, type SagaState } from '../../machine/saga-state.js';
import type { OpenApproval } from '../../machine/open-approvals.js';
import type { StepNotes } from '../../machine/step-notes.js';
import type { OutgoingMessage } from '../payload/outgoing-message.js';
import type { Child, Parent } from './stored-saga.js';

/** What changed since the last checkpoint, to be stored if, and only if, the epoch still holds. */
export interface Checkpoint {
  readonly id: string;
  readonly epoch: number;
  /** Higher than that of any before: one that arrives after later ones (its connection broke) changes nothing any more. */
  readonly number: number;
  readonly state: SagaState;
  /** Names of the steps to write: those that changed. */
  readonly changed: readonly string[];
  /**
   * Small changes of steps since their rows were written, to be stored with the saga in place of those that it has. A step
   * of `changed` that is among them is not written otherwise. Default: none.
   */
  readonly notes?: StepNotes;
  /** The steps that wait for an operator's decision from now on: all of them. Default: the same as before. */
  readonly openApprovals?: readonly OpenApproval[];
  /** The attempt of the step of `state.failure` whose error is the error of that. Default: none is known. */
  readonly failedAttempt?: number;
  /** No step of `changed` whose row is to be written was ever stored before. Default: not known. */
  readonly fresh?: boolean;
  /** Milliseconds that each changed step's attempt took, by name, where known. */
  readonly elapsed?: ReadonlyMap<string, number>;
  /** Where it stands, for people who look at the row: the steps in progress or next. */
  readonly step: string;
  /** A step or a wait has ended since the last checkpoint: the losses of the saga count anew. */
  readonly advances: boolean;
  /** The holder of the lease knows of the cancellation, if there is one. */
  readonly cancelSeen: boolean;
  /** The run knows of a request to pause. */
  readonly pauseSeen: boolean;
  /** Gives the lease back; `dueAt` (milliseconds since the epoch): when to look again, undefined: never by itself. */
  readonly release?: { readonly dueAt?: number };
  /** The saga's semantic lock: a terminal checkpoint hands it on. */
  readonly lock?: { readonly name: string; readonly key: string };
  /** The saga that waits for this one. A terminal checkpoint makes it due. */
  readonly parent?: Parent;
  /** Sagas that are stored if, and only if, this is saved. */
  readonly starts?: readonly Child[];
  /**
   * The last saved checkpoint, if the database may have lost it: in a crash, with relaxed durability, or in a failover. If
   * it is not there, this checkpoint is refused like one of a lost lease. The saga is due and continues from what is stored.
   */
  readonly after?: number;
  /** With `after`: the worker that has to hold the lease. The claim of a worker may be lost like a checkpoint. */
  readonly holder?: string;
  /** For the outbox, in order: stored if, and only if, this is saved. */
  readonly messages?: readonly StoredMessage[];
  /**
   * The paused steps for which the saga comes to rest, with `release`. If one of them is not paused any more, the saga is due
   * at once, and all processes are notified to read the pauses. Default: it waits for none.
   */
  readonly heldBy?: readonly string[];
  /** All tags of the saga, if they have changed. Default: they stay as they are. */
  readonly tags?: Readonly<Record<string, string>>;
}

/** Returns the steps whose rows a checkpoint writes. */
export function writtenSteps({ changed, notes }: Pick<Checkpoint, 'changed' | 'notes'>): readonly string[] {
  return notes === undefined ? changed : changed.filter((name) => !notes.has(name));
}

/** A message on its way into the outbox. */
export interface StoredMessage extends OutgoingMessage {
  /** A UUID. */
  readonly id: string;
}
/** Whether a checkpoint concerns more sagas than its own, in the same commit, and so is written by itself. */
export function concernsOthers({
  parent,
  starts,
  state,
}: Pick<Checkpoint, 'parent' | 'starts' | 'state'>): boolean {
  return (starts !== undefined && starts.length > 0) || (parent !== undefined && isTerminal(state.status));
}
/**
 * `saved`: it is stored, now or by an earlier try whose answer was lost. `fenced`: the lease is another's.
 * `cancelled`: a cancellation, or a pause, was asked for that the checkpoint does not know of. A run that has taken back what
 * the database refuses says so as well: in both cases nothing is stored, and it decides again.
 */
export type CheckpointResult = 'saved' | 'fenced' | 'cancelled';
