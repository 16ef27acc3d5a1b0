import type { SagaSchedule, ScheduleRule } from '../../definition/options/schedule-options.js';
import type { StoredSchedule } from '../ports/stored-schedule.js';

/** With `catchUp: 'none'`, the last missed tick still starts a saga if it is no older (ms): a deployment takes a moment. */
export const LATEST_WITHOUT_CATCH_UP = 60_000;

/** What was decided for a time that is so far ahead (ms) was decided before the clock was set back. */
const SET_BACK = 1_000;

/** What there is to decide. */
export interface DueTicks {
  /** The tick that starts a saga, unless an earlier one has not ended. Undefined: none does. */
  readonly tick?: number;
  /** Up to here all is decided by it. */
  readonly decidedUntil: number;
}

/** What the process knows when it decides a tick. */
type Decided = Pick<StoredSchedule, 'decidedUntil' | 'paused'> & ScheduleRule;

/** Returns what is due by now, one saga at a time. Undefined: nothing. */
export function dueTicks(schedule: SagaSchedule, stored: Decided, now: number): DueTicks | undefined {
  // Ticks that come again are decided again: the saga that such a tick has started is found by its correlation id.
  if (stored.decidedUntil - now > SET_BACK) return { decidedUntil: now };
  const first = schedule.next(stored.decidedUntil);
  if (first > now) return undefined;
  const isMissed = schedule.next(first) <= now || now - first > LATEST_WITHOUT_CATCH_UP;
  if (!stored.paused && (!isMissed || catchUpOf(schedule, stored) === 'all'))
    return { tick: first, decidedUntil: first };
  const last = lastTick(schedule, stored.decidedUntil, now);
  const isLate = now - last > LATEST_WITHOUT_CATCH_UP;
  const starts = !stored.paused && (catchUpOf(schedule, stored) === 'last' || !isLate);
  return { ...(starts && { tick: last }), decidedUntil: last };
}

/** Up to when another schedule was decided, this one cannot have missed a tick. */
function catchUpOf(schedule: SagaSchedule, stored: Decided): SagaSchedule['catchUp'] {
  return isSameTimes(schedule, stored) ? schedule.catchUp : 'none';
}

export function isSameTimes(
  a: Pick<ScheduleRule, 'cron' | 'timezone'>,
  b: Pick<ScheduleRule, 'cron' | 'timezone'>,
): boolean {
  return a.cron === b.cron && a.timezone === b.timezone;
}

/** The last tick up to now; there is one after `decided`. Searched for backwards, since there may be very many. */
function lastTick({ next }: SagaSchedule, decided: number, now: number): number {
  for (let span = 1_000; ; span *= 2) {
    const from = Math.max(decided, now - span);
    let tick = next(from);
    if (tick > now) continue;
    for (let later = next(tick); later <= now; later = next(tick)) tick = later;
    return tick;
  }
}
