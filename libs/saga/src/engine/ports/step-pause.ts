/** A step of all sagas of a name, in all versions. */
export interface StepOfSaga {
  /** The name of the saga. */
  readonly saga: string;
  readonly step: string;
}

/** Who does something, and why. */
export interface WhoAndWhy {
  readonly by?: string;
  readonly reason?: string;
}

/** A pause of a step as it is stored. Times are milliseconds since the epoch, by the database's clock. */
export interface StoredStepPause extends StepOfSaga {
  readonly paused: WhoAndWhy & { readonly at: number };
  /** Undefined: it is paused. */
  readonly resumed?: WhoAndWhy & { readonly at: number };
  /** The shard on which it is stored. Undefined: the sagas are in one database. */
  readonly shard?: string;
  /** The sagas that waited for it have been made due. */
  readonly isOver: boolean;
}

/** The paused steps that a process knows of. */
export interface KnownPauses {
  /** The paused steps of the sagas of this name; undefined: none. */
  of(saga: string): ReadonlySet<string> | undefined;
}

/** The pauses that are stored beside the sagas. */
export interface StepPauseStore {
  /**
   * The steps that are paused, and those that were resumed while the sagas that waited for them are not all due yet.
   * @param resumed so many more of those that were resumed, the latest first
   */
  all(resumed: number): Promise<{ readonly pauses: readonly StoredStepPause[]; readonly now: number }>;
  /** Pauses a step, unless it is paused, and notifies all processes. */
  pause(step: StepOfSaga, who: WhoAndWhy): Promise<void>;
  /** Resumes a step, if it is paused, and notifies all processes. The sagas that wait for it are not due yet. */
  resume(step: StepOfSaga, who: WhoAndWhy): Promise<void>;
  /** Makes the sagas due that waited for a step that was resumed. Any process may repeat it. */
  wake(step: StepOfSaga): Promise<void>;
}
