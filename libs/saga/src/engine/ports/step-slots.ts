import type { StoredSaga } from './stored-saga.js';

/** At most `count` attempts of a step hold a slot, over all sagas of its name: of this key, if there is one. */
export interface SlotLimit {
  readonly saga: string;
  readonly step: string;
  /** Each key has its own slots. Undefined: the limit has no key. */
  readonly key?: string;
  readonly count: number;
}

/** The saga that holds slots or waits for them, and the epoch of its lease. */
export interface SlotHolder {
  readonly id: string;
  readonly epoch: number;
  /** Rises with every call that takes slots under this epoch: a call that frees them, and arrives late, frees no later ones. */
  readonly turn: number;
}

/** The steps of a saga's name that have a limit, and the limit. */
export type LimitedSteps = ReadonlyMap<string, number>;

/** A saga that is run here, and the limits that its steps have. */
export interface SweptSaga extends Pick<StoredSaga, 'name' | 'version'> {
  readonly steps: LimitedSteps;
}

/** How long (ms) a slot is kept for a saga that was made due for it. After that, the next one in the queue is, too. */
export const SLOT_KEPT_MS = 10_000;

/** Waiting steps that one call looks at: those behind are reached by the next one. */
export const SLOT_LOOKS = 100;

/**
 * The slots of steps with a `limit`. A slot counts while the saga is leased under the epoch that took
 * it: so the slots of a lost worker are free once another takes over, or a sweep finds that its lease has run out.
 */
export interface StepSlotStore {
  /**
   * Takes slots for these steps, or items, of a saga. Those that find none wait, in the order of the calls; a wait that the
   * saga has already keeps its place, also if it was made due and comes late: a slot that is kept for a later one is then its own.
   * The limit's count decides, whichever process has made the saga due. Returns those that have a slot. Undefined: the lease is lost, and
   * nothing was done.
   */
  take(
    limit: SlotLimit,
    holder: SlotHolder,
    steps: readonly string[],
  ): Promise<readonly string[] | undefined>;
  /**
   * Frees the slots, and ends the waits, of these steps of a saga. Without a step, nothing is
   * freed that counts. Sagas that wait are made due for what is free then; a slot is kept
   * for each of them for a while (`SLOT_KEPT_MS`). Slots that another
   * epoch of the saga took, or a later turn, are unchanged.
   */
  free(limit: SlotLimit, holder: SlotHolder, steps: readonly string[]): Promise<void>;
  /**
   * Ends leases that have run out and hold slots, and makes sagas due for slots that are free, by the limits of their own versions:
   * others are left to those who run them. Steps that have no limit any more hold no saga of this version back.
   * @param sagas those that are run here
   */
  sweep(sagas: readonly SweptSaga[]): Promise<void>;
}

/**
 * Frees slots, as the store does. Never rejects. False: the store could not be reached. What is not freed is free once the lease is
 * given back.
 */
export type FreeSlots = (...freed: Parameters<StepSlotStore['free']>) => Promise<boolean>;
