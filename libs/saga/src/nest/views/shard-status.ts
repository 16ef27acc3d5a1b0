import { NEEDS_ATTENTION } from '../../definition/types/saga-status.js';
import type { StoreStats } from '../../engine/ports/saga-store.js';

/** One of the databases of an application, as `SagaShards.list()` returns it. */
export interface ShardStatus {
  /** The name of the shard. */
  readonly name: string;
  /** Whether this process can reach the database of the shard. */
  readonly reachable: boolean;
  /**
   * Whether new sagas may start on the shard. `false`: it was drained, or was added and not opened yet. If the shard
   * cannot be reached, it is the last known value. Undefined: this process has not reached the shard yet.
   */
  readonly accepting?: boolean;
  /** Whether an operator has closed the shard. It cannot be reached then. Undefined as for `accepting`. */
  readonly closed?: boolean;
  /** Undefined: the shard cannot be reached, or they could not be read. */
  readonly counts?: {
    /** The number of sagas that have not ended. */
    readonly unfinished: number;
    /** The number of them that are stuck, suspended or paused. */
    readonly needAttention: number;
    /** The number of due sagas that no worker has claimed. */
    readonly due: number;
    /** The number of unfinished sagas past their `sla`. */
    readonly overdue: number;
  };
}

export function shardCountsOf({ sagas, due, overdue }: StoreStats): NonNullable<ShardStatus['counts']> {
  const sum = (some: StoreStats['sagas']) => some.reduce((total, { count }) => total + count, 0);
  return {
    unfinished: sum(sagas),
    needAttention: sum(sagas.filter(({ status }) => NEEDS_ATTENTION.includes(status))),
    ...{ due, overdue },
  };
}
