import type { ZoneClock } from './zone-clock.js';

/** The used methods of `CronTime` of the package `cron`. */
export interface CronTime {
  getNextDateFrom(start: Date, zone: string): { toMillis(): number };
  /** The values of each field: seconds, minutes, hours, days, months, weekdays. `*` stands for all of them. */
  toJSON(): string[];
}

/** The place of the hours among the fields. */
const HOURS = 2;
/** No clock is put back by more than this (ms). */
const LONGEST_REPETITION = 3 * 3_600_000;
const SECOND = 1_000;

/**
 * The instants of a cron expression in a time zone. `cron` finds the wall clock times; which instants they stand for when
 * the clock is changed is decided here.
 *
 * If the expression names hours, each wall clock time counts once: one that the clock is put forward past counts at that
 * instant, and one that comes twice counts the first time. If it runs in every hour, it follows the clock: it runs in both
 * of two repeated hours, and times that do not exist are left out.
 */
export class CronTimes {
  private readonly everyHour: boolean;

  constructor(
    private readonly time: CronTime,
    private readonly zone: ZoneClock,
  ) {
    const hours = time.toJSON()[HOURS]!;
    this.everyHour = hours === '*' || hours.split(',').length === 24;
  }

  /**
   * The first instant after this one; milliseconds since the epoch.
   * @throws Error of `cron` if there is none within eight years from now
   */
  next(after: number): number {
    const next = this.firstAfter(after);
    return this.everyHour ? Math.min(next, this.repeatedAfter(after)) : next;
  }

  private firstAfter(after: number): number {
    let wall = this.zone.wallAt(after);
    for (;;) {
      wall = this.nextWall(wall);
      const { instants, jump } = this.zone.occurrencesOf(wall);
      const found = this.everyHour
        ? instants.find((instant) => instant > after)
        : (instants[0] ?? jump!) > after
          ? (instants[0] ?? jump!)
          : undefined;
      if (found !== undefined) return found;
      // None of the other times that the clock is put forward past exists either.
      if (jump !== undefined) wall = this.zone.wallAt(jump) - SECOND;
    }
  }

  /** The first time that the wall clock shows again, since it is put back soon; Infinity: it is not. */
  private repeatedAfter(after: number): number {
    const { zone } = this;
    const until = after + LONGEST_REPETITION;
    if (zone.offsetAt(until) >= zone.offsetAt(after)) return Infinity;
    const change = zone.changeIn(after, until);
    return this.nextWall(zone.wallAt(change) - SECOND) - zone.offsetAt(change);
  }

  private nextWall(wall: number): number {
    return this.time.getNextDateFrom(new Date(wall), 'UTC').toMillis();
  }
}
