import type { StoreStats } from '../../engine/ports/saga-store.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';

/** Counts of unfinished sagas and messages, over all applications of a database. */
export interface SagaStats {
  /** The time of the counts, by the database's clock. */
  readonly at: Date;
  /** Counts of unfinished sagas, by name, version and status. */
  readonly sagas: readonly {
    readonly saga: string;
    readonly version: number;
    readonly status: SagaStatus;
    readonly count: number;
  }[];
  /** The number of due sagas that no worker has claimed. */
  readonly due: number;
  /** The time since which the oldest of them is due. */
  readonly oldestDue?: Date;
  /** The number of unfinished sagas past their `sla`. */
  readonly overdue: number;
  /** The steps that operators have paused. */
  readonly pausedSteps: readonly { readonly saga: string; readonly step: string }[];
  /** Counts of messages that were published and not sent. */
  readonly outbox: {
    /** The number of messages that wait to be sent, at most 100,000. */
    readonly waiting: number;
    /** The number of dead messages, whose retries are exhausted. */
    readonly dead: number;
    /** The time at which the oldest waiting message was published. */
    readonly oldest?: Date;
  };
  /**
   * Whether this process would notice the promotion of a standby. `'off'`: a server cannot tell its timeline, so that nothing
   * is put back after a failover that loses commits. Undefined: the sagas are in memory.
   */
  readonly timelineGuard?: 'on' | 'off';
  /** The shards that could not be reached: they are not counted. Undefined: all are counted. */
  readonly unreachable?: readonly string[];
}

export function toSagaStats({ messages, dead, oldestMessage, ...stats }: StoreStats): SagaStats {
  const { now, sagas, due, oldestDue, overdue, pausedSteps, timelineGuard, unreachable } = stats;
  return {
    at: new Date(now),
    sagas: sagas.map(({ name, ...rest }) => ({ saga: name, ...rest })),
    ...{ due, overdue, pausedSteps },
    ...(timelineGuard && { timelineGuard }),
    ...(unreachable && { unreachable }),
    ...(oldestDue !== undefined && { oldestDue: new Date(oldestDue) }),
    outbox: {
      ...{ waiting: messages - dead, dead },
      ...(oldestMessage !== undefined && { oldest: new Date(oldestMessage) }),
    },
  };
}
