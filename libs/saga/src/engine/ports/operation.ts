import { DECISION_CALLS, type ChangingCall } from './call-table.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';

/** What is kept in a saga's history. `put-back`: a process stored what the database had lost in a failover. */
export type RecordedAction = ChangingCall | 'put-back';

/** What an operator did to a saga, or asks another one to do as well: stored with what it changed. */
export interface Operation {
  /** A UUID, one a call: a call whose answer was lost is known by it. */
  readonly id: string;
  readonly action: RecordedAction;
  readonly by?: string;
  readonly reason?: string;
  /** The step that it was about. */
  readonly step?: string;
  /** The saga's status before. */
  readonly from: SagaStatus;
  /** The saga's `checkpoints` before: a proposal holds for as long as it is there. */
  readonly revision: number;
  /** Nothing was done: it waits for a second operator. */
  readonly proposed: boolean;
  /** A retry with another input. */
  readonly newInput?: boolean;
  /** What the call was given, as JSON text: the new input of a retry, the result of a resolved step, the time of `reschedule`. */
  readonly given?: string;
}

export interface StoredOperation extends Operation {
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: number;
}

/** Bytes: what a call was given is kept whole, and shown in a history as far as it is no larger. */
export const LARGEST_SHOWN = 65_536;

/** The number of a saga's latest operations that are loaded with it. Older ones are loaded if they are open proposals. */
export const RECENT_OPERATIONS = 20;

/**
 * The operations that are loaded with a saga. A proposal is never among those that are left out while other operators may
 * still join it: an approval until its step is decided, any other call until the next checkpoint.
 * @param operations all of the saga's, oldest first
 */
export function loadedOperations<Kept extends Operation>(
  operations: readonly Kept[],
  checkpoints: number,
): Kept[] {
  const older = operations.slice(0, -RECENT_OPERATIONS);
  const isDecided = (step: string | undefined, from: number) =>
    operations.some((one, n) => n > from && !one.proposed && one.step === step && isDecision(one));
  const open = older.filter(
    (one, n) =>
      one.proposed && (one.revision === checkpoints || (isDecision(one) && !isDecided(one.step, n))),
  );
  return [...open, ...operations.slice(-RECENT_OPERATIONS)];
}

/** An operator decides on the step of an approval. While the operation is only proposed, others have to approve it as well. */
export function isDecision({ action }: Operation): boolean {
  return DECISION_CALLS.some((name) => name === action);
}
