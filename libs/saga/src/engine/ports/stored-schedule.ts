import type { ScheduleRule } from '../../definition/options/schedule-options.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';
import type { StartResult } from './stored-saga.js';
import type { NewSaga } from './stored-saga.js';

/** The schedule of a saga as it is stored. Times are milliseconds since the epoch, by the database's clock. */
export interface StoredSchedule extends ScheduleRule {
  /** The name of the saga. */
  readonly saga: string;
  /** Present while an operator has paused it. */
  readonly paused?: { readonly at: number; readonly by?: string; readonly reason?: string };
  /** Up to here it is decided which ticks start a saga: none of them is looked at again. */
  readonly decidedUntil: number;
  /** The first tick after that. */
  readonly nextAt: number;
  /** The saga that was started last. */
  readonly last?: LastStart;
  /** The last tick that started none, since an earlier saga had not ended. */
  readonly skippedAt?: number;
}

export interface LastStart {
  readonly id: string;
  /** The tick; of one that an operator started, when that was. */
  readonly at: number;
  readonly triggered: boolean;
  /** Undefined: it has ended, or is deleted. Not stored with the schedule. */
  readonly status?: SagaStatus;
}

/** A change of a schedule, and the saga that is stored with it: only if the schedule is stored already. */
export interface ScheduleEdit {
  readonly schedule: StoredSchedule;
  readonly start?: NewSaga;
}

/** The result of a change; no `start`: it had none. */
export interface ScheduleEdited {
  readonly schedule: StoredSchedule;
  readonly start?: StartResult;
  readonly now: number;
}

/** @returns undefined: nothing is changed. */
export type ChangeSchedule = (stored: StoredSchedule | undefined, now: number) => ScheduleEdit | undefined;

/**
 * The saga of a tick may be there already, under another id. If it was refused because of its lock, the tick is skipped.
 * @param before the schedule before the tick
 */
export function withStarted(
  schedule: StoredSchedule,
  start: StartResult | undefined,
  before: StoredSchedule | undefined,
): StoredSchedule {
  if (!schedule.last || !start || start.created) return schedule;
  if (!start.existing) {
    const { last, ...skipped } = schedule;
    const { at, triggered } = last;
    return { ...skipped, ...(before?.last && { last: before.last }), ...(!triggered && { skippedAt: at }) };
  }
  return { ...schedule, last: { ...schedule.last, id: start.existing.id } };
}

/** @param status undefined: its last saga has ended */
export function withStatus(
  { last, ...schedule }: StoredSchedule,
  status: SagaStatus | undefined,
): StoredSchedule {
  if (!last) return schedule;
  const { status: _, ...kept } = last;
  return { ...schedule, last: { ...kept, ...(status && { status }) } };
}
