/** One of several databases of an application, as it describes itself. */
export interface StoredShard {
  readonly name: string;
  /** The number that the ids of its sagas carry. */
  readonly number: number;
  /** The shards that were set up first, together. They have accepted sagas since then, unless they were drained. */
  readonly founders: readonly string[];
  /** False: no new sagas start there. */
  readonly accepting: boolean;
  /** `accepting` has changed since the shard was set up. */
  readonly changed: boolean;
  /** No process runs or changes its sagas and messages. */
  readonly closed: boolean;
}
