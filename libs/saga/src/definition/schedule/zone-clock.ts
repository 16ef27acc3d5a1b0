const HOUR = 3_600_000;
/** Far less than the time between two changes of a clock, and more than any such change. */
const NEAR = 6 * HOUR;
/** Clocks change at the full quarter of an hour. */
const QUARTER = HOUR / 4;
/** To ask for an offset takes long: as many as the search for one tick needs are kept. */
const KEPT_OFFSETS = 1_000;

/** What a wall clock time stands for: it may exist once, twice, or not at all. */
export interface Occurrences {
  /** The instants at which the wall clock shows the time, in order: one, or two when the clock is put back. */
  readonly instants: readonly number[];
  /** When the clock is put forward past the time: the instant of that. Undefined: the time exists. */
  readonly jump?: number;
}

/**
 * The wall clock of a time zone. A wall clock time is a number here, as if it were in UTC: milliseconds since the epoch.
 */
export class ZoneClock {
  private readonly format: Intl.DateTimeFormat;
  private readonly offsets = new Map<number, number>();

  /** @throws RangeError for a time zone that this Node does not know */
  constructor(timeZone: string) {
    this.format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
      ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit' },
    });
  }

  /** How far (ms) the wall clock is ahead of UTC at an instant. */
  offsetAt(instant: number): number {
    const quarter = Math.floor(instant / QUARTER) * QUARTER;
    let offset = this.offsets.get(quarter);
    if (offset === undefined) {
      offset = this.offsetOf(quarter);
      if (this.offsets.size >= KEPT_OFFSETS) this.offsets.clear();
      this.offsets.set(quarter, offset);
    }
    return offset;
  }

  private offsetOf(instant: number): number {
    const parts = this.format.formatToParts(instant);
    const of = (type: string) => Number(parts.find((part) => part.type === type)!.value);
    return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute')) - instant;
  }

  wallAt(instant: number): number {
    return instant + this.offsetAt(instant);
  }

  occurrencesOf(wall: number): Occurrences {
    const about = wall - this.offsetAt(wall);
    const [before, after] = [this.offsetAt(about - NEAR), this.offsetAt(about + NEAR)];
    const instants = [...new Set([before, after])].map((offset) => wall - offset);
    const shown = instants.filter((instant) => this.wallAt(instant) === wall).sort((a, b) => a - b);
    return shown.length > 0
      ? { instants: shown }
      : { instants: [], jump: this.changeIn(about - NEAR, about + NEAR) };
  }

  /** The instant in (from, to] at which the clock is put forward or back; it must be the only one. */
  changeIn(from: number, to: number): number {
    const offset = this.offsetAt(from);
    let [same, other] = [Math.floor(from / QUARTER), Math.ceil(to / QUARTER)];
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2);
      if (this.offsetAt(middle * QUARTER) === offset) same = middle;
      else other = middle;
    }
    return other * QUARTER;
  }
}
