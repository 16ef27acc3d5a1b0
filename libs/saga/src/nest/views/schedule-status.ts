import type { SagaStatus } from '../../definition/types/saga-status.js';
import type { StoredSchedule } from '../../engine/ports/stored-schedule.js';

/** A schedule, as `SagaSchedules.list()` returns it. */
export interface ScheduleStatus {
  /** The name of the saga that it starts. */
  readonly saga: string;
  /** The cron expression. */
  readonly cron: string;
  /** The IANA time zone of the expression. */
  readonly timezone: string;
  /** What a tick does while the last saga has not ended. */
  readonly overlap: 'skip' | 'queue' | 'allow';
  /** What happens to ticks at which no process was running. */
  readonly catchUp: 'none' | 'last' | 'all';
  /**
   * The next scheduled time. A time in the past: no process runs the schedule now. Undefined while the schedule is paused.
   */
  readonly next?: Date;
  /** The saga that was started last. Undefined: none yet. */
  readonly last?: ScheduledStart;
  /** The last time at which no saga was started because an earlier one had not ended. */
  readonly skippedAt?: Date;
  /** Present while the schedule is paused. */
  readonly paused?: {
    /** When the schedule was paused. */
    readonly at: Date;
    /** Who paused it. */
    readonly by?: string;
    /** Why it was paused. */
    readonly reason?: string;
  };
}

/** A saga that a schedule has started. */
export interface ScheduledStart {
  /** The id of the saga. */
  readonly sagaId: string;
  /** The scheduled time, or the time of the call of `trigger()`. */
  readonly at: Date;
  /** `true` if `trigger()` started it. */
  readonly triggered: boolean;
  /** The status of the saga. Undefined once it has ended. */
  readonly status?: SagaStatus;
}

export function toScheduleStatus(stored: StoredSchedule): ScheduleStatus {
  const { saga, cron, timezone, overlap, catchUp, nextAt, last, skippedAt, paused } = stored;
  return {
    ...{ saga, cron, timezone, overlap, catchUp },
    ...(!paused && { next: new Date(nextAt) }),
    ...(last && {
      last: {
        ...{ sagaId: last.id, at: new Date(last.at), triggered: last.triggered },
        ...(last.status && { status: last.status }),
      },
    }),
    ...(skippedAt !== undefined && { skippedAt: new Date(skippedAt) }),
    ...(paused && { paused: { ...paused, at: new Date(paused.at) } }),
  };
}
