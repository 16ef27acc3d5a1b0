import type { StoreStats } from '../../engine/ports/saga-store.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';

/** What there is to do, over all applications of a database. */
export interface SagaStats {
  /** By the database’s clock. */
  readonly at: Date;
  /** Sagas that have not ended, by name, version and status. */
  readonly sagas: readonly {
    readonly saga: string;
    readonly version: number;
    readonly status: SagaStatus;
    readonly count: number;
  }[];
  /** Sagas that could be advanced, and that no worker has. */
  readonly due: number;
  /** Since when the first of them is. */
  readonly oldestDue?: Date;
  /** Sagas that have not finished by their sla. */
  readonly overdue: number;
  /** Messages that were published and have not been sent. */
  readonly outbox: {
    /** Messages that are to be sent; 100,000 at most are counted. */
    readonly waiting: number;
    /** Messages that were given up. */
    readonly dead: number;
    /** When the oldest of those that wait was published. */
    readonly oldest?: Date;
  };
}

export function toSagaStats({ messages, dead, oldestMessage, ...stats }: StoreStats): SagaStats {
  const { now, sagas, due, oldestDue, overdue } = stats;
  return {
    at: new Date(now),
    sagas: sagas.map(({ name, ...rest }) => ({ saga: name, ...rest })),
    ...{ due, overdue },
    ...(oldestDue !== undefined && { oldestDue: new Date(oldestDue) }),
    outbox: {
      ...{ waiting: messages - dead, dead },
      ...(oldestMessage !== undefined && { oldest: new Date(oldestMessage) }),
    },
  };
}
