/** Ended sagas of a name, which are to be deleted. */
export interface CleanupBatch {
  /** The name of the sagas. */
  readonly name: string;
  /** Milliseconds since they ended, at least. */
  readonly age: number;
  /** How many at most, not counting those that others started. */
  readonly most: number;
  /** Where the batch before ended; undefined: from the oldest on. */
  readonly after?: CleanupPlace;
  /** Counts, and deletes nothing. */
  readonly dryRun: boolean;
  /** Only if no other process runs it. */
  readonly alone: boolean;
}

/** A saga among those that have ended, in the order of their ends. */
export interface CleanupPlace {
  readonly at: string;
  readonly id: string;
}

export interface CleanedBatch {
  /** Deleted, or counted: sagas with those that they started. */
  readonly gone: number;
  /** Where the next batch begins; undefined: there is none, as far as is known now. */
  readonly next?: CleanupPlace;
}

/** Deletes sagas that have ended. Every implementation passes `test/contract/cleanup.contract.ts`. */
export interface CleanupStore {
  /**
   * Prepares the deletion. False while another process does.
   * @param signal ends it
   */
  ready(signal: AbortSignal): Promise<boolean>;
  /**
   * Deletes a batch of sagas that no other started, the oldest end first, each with the sagas that it started, and theirs. One of
   * which a descendant has not ended is left. Undefined: another process runs it.
   */
  batch(batch: CleanupBatch): Promise<CleanedBatch | undefined>;
  /** The names of all sagas that were ever deployed here. */
  names(): Promise<string[]>;
}
