import type { Report } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';
import type { OptionReader } from '../options/option-reader.js';
import { type CronTime, CronTimes } from './cron-times.js';
import { loadCron } from './load-cron.cjs';
import type { SagaSchedule, ScheduleOptions } from '../options/schedule-options.js';
import { ZoneClock } from './zone-clock.js';

const SCHEDULE_OPTIONS = [
  'cron',
  'timezone',
  'input',
  'overlap',
  'catchUp',
] as const satisfies (keyof ScheduleOptions)[];

const EXAMPLE = "{ cron: '0 2 * * *', timezone: 'Europe/Berlin' }";
const CRON_EXAMPLE = "give five fields, such as '0 2 * * *' for 02:00 each day, or six with seconds first";

/** Undefined: the saga has no schedule, or a wrong one, which is reported. */
export function readSchedule(
  given: ScheduleOptions | undefined,
  { hasLockKey, read, report }: { hasLockKey: boolean; read: OptionReader; report: Report },
): SagaSchedule | undefined {
  if (given === undefined) return undefined;
  const options = read.object(given, 'schedule', SCHEDULE_OPTIONS, EXAMPLE);
  if (!options) return undefined;
  const overlap = read.oneOf(options.overlap, 'schedule.overlap', ['skip', 'queue', 'allow']);
  // The default first.
  const catchUp = read.oneOf(options.catchUp, 'schedule.catchUp', ['last', 'none', 'all']);
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
  const input = read.function(options.input, 'schedule.input');
  const zone = readZone(options.timezone ?? 'UTC', report);
  const times = zone && readCron(options.cron, zone, report);
  if (!times) return undefined;
  return {
    ...{ cron: options.cron!, timezone: options.timezone ?? 'UTC', overlap, catchUp },
    ...(input && { input }),
    next: (after) => times.next(after),
  };
}

function readZone(timezone: unknown, report: Report): ZoneClock | undefined {
  try {
    if (typeof timezone === 'string') return new ZoneClock(timezone);
  } catch {
    // Reported below, as what is no text is.
  }
  report(
    `@Saga schedule.timezone is ${shown(timezone)}`,
    "give an IANA time zone, such as 'Europe/Berlin' or 'UTC'",
  );
  return undefined;
}

function readCron(cron: unknown, zone: ZoneClock, report: Report): CronTimes | undefined {
  if (typeof cron !== 'string') {
    report(`@Saga schedule.cron is ${shown(cron)}`, CRON_EXAMPLE);
    return undefined;
  }
  const Time = cronTime(report);
  if (!Time) return undefined;
  let times: CronTimes;
  try {
    times = new CronTimes(new Time(cron), zone);
  } catch (error) {
    report(`@Saga schedule.cron ${shown(cron)} cannot be read: ${(error as Error).message}`, CRON_EXAMPLE);
    return undefined;
  }
  try {
    times.next(Date.now());
  } catch {
    report(
      `@Saga schedule.cron ${shown(cron)} stands for no time in the next eight years`,
      'give days that the months have',
    );
    return undefined;
  }
  return times;
}

function cronTime(report: Report): (new (expression: string) => CronTime) | undefined {
  try {
    return (loadCron() as { CronTime: new (expression: string) => CronTime }).CronTime;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'MODULE_NOT_FOUND') throw error;
    report(
      '@Saga schedule requires the package @nestjs/schedule, which is not installed',
      'run npm install @nestjs/schedule',
    );
    return undefined;
  }
}
