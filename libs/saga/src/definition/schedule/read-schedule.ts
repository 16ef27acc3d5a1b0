import { Cron } from 'croner';
import type { Report } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';
import type { OptionsRead } from '../options/option-reader.js';
import type { SagaSchedule, SCHEDULE_OPTIONS } from '../options/schedule-options.js';

const CRON_EXAMPLE = "give five fields, such as '0 2 * * *' for 02:00 each day, or six with seconds first";

/** Undefined: the schedule is invalid, and that was reported. */
export function readSchedule(
  { cron, timezone, input, overlap, catchUp }: OptionsRead<typeof SCHEDULE_OPTIONS>,
  hasLockKey: boolean,
  report: Report,
): SagaSchedule | undefined {
  if (overlap === 'skip' && catchUp === 'all')
    report(
      "@Saga schedule.catchUp 'all' with schedule.overlap 'skip' would skip all missed ticks but the first",
      "set overlap to 'queue' or 'allow', or catchUp to 'last'",
    );
  if (overlap === 'queue' && hasLockKey)
    report(
      "@Saga schedule.overlap 'queue' cannot be combined with lockKey, by which the sagas queue already",
      "set overlap to 'allow', or remove lockKey",
    );
  const next = isZone(timezone, report) ? readCron(cron, timezone, report) : undefined;
  if (!next) return undefined;
  return {
    ...{ cron, timezone, overlap, catchUp, next },
    ...(input && { input }),
  };
}

function isZone(timezone: unknown, report: Report): timezone is string {
  try {
    if (typeof timezone === 'string' && new Intl.DateTimeFormat('en', { timeZone: timezone })) return true;
  } catch {
    // The report below covers an unknown name, too.
  }
  report(
    `@Saga schedule.timezone is ${shown(timezone)}`,
    "give an IANA time zone, such as 'Europe/Berlin' or 'UTC'",
  );
  return false;
}

/** Undefined: the expression is invalid or has no tick, and is reported. */
function readCron(cron: unknown, timezone: string, report: Report): SagaSchedule['next'] | undefined {
  if (typeof cron !== 'string') {
    report(`@Saga schedule.cron is ${shown(cron)}`, CRON_EXAMPLE);
    return undefined;
  }
  let next: SagaSchedule['next'];
  try {
    next = ticksOf(cron, timezone);
  } catch (error) {
    report(`@Saga schedule.cron ${shown(cron)} cannot be read: ${(error as Error).message}`, CRON_EXAMPLE);
    return undefined;
  }
  if (next(Date.now()) < Infinity) return next;
  report(`@Saga schedule.cron ${shown(cron)} stands for no time`, 'give days that the months have');
  return undefined;
}

/**
 * Returns the first tick after a time (both in ms since the epoch; Infinity: there is none). If the expression names hours,
 * a local time that the clock is put forward past counts at that moment, and one that comes twice counts once. If the
 * expression runs in every hour, it runs in both of two repeated hours, and leaves out times that do not exist.
 * @throws Error if the expression is invalid
 */
export function ticksOf(cron: string, timezone: string): SagaSchedule['next'] {
  const times = new Cron(cron, { timezone, mode: '5-or-6-parts', paused: true });
  if (times.getOnce()) throw new Error('it is a date');
  return (after) => times.nextRun(new Date(after))?.getTime() ?? Infinity;
}
