import * as kind from './kinds.js';
import { optional, type OptionTable, required, withDefault } from './option-reader.js';

/** The tick for which `ScheduleOptions.input` is called. */
export interface ScheduleTick {
  /** The scheduled time. For `trigger()`: the time of the call. */
  readonly at: Date;
  /** `true` if `trigger()` starts the saga. */
  readonly triggered: boolean;
}

/** Options of `@Saga({ schedule })`. */
export interface ScheduleOptions {
  /**
   * A cron expression of five fields (minute, hour, day of the month, month, day of the week), or of six with seconds
   * first. The package croner reads it; `L` is the last day of the month, and `MON#1` the first Monday. If it names hours,
   * a local time that is skipped when the clock is put forward counts at that moment, and one that comes twice counts once.
   */
  cron: string;
  /** The IANA time zone of the expression, such as `'Europe/Berlin'`. Default: `'UTC'`. */
  timezone?: string;
  /**
   * Returns the input of the saga that starts at a tick, or a promise of it. `@Saga({ input })` validates it. If it throws, or does
   * not settle within 30 s, the error is logged, and the tick is tried again after 30 s. Default: no input.
   */
  input?: (tick: ScheduleTick) => unknown;
  /**
   * What happens at a tick while the saga that was started last has not ended. `'skip'`: the tick starts no saga.
   * `'queue'`: its saga waits for the earlier ones, in order. `'allow'`: both run. Default: `'skip'`.
   */
  overlap?: 'skip' | 'queue' | 'allow';
  /**
   * What happens to ticks at which no process was running. `'none'`: they start no saga, unless the last of them is less
   * than a minute old. `'last'`: the last of them starts one saga. `'all'`: each of them starts one, in order; it excludes
   * `overlap: 'skip'`. Ticks of a paused schedule are never caught up. Default: `'last'`.
   */
  catchUp?: 'none' | 'last' | 'all';
}

export const SCHEDULE_OPTIONS = {
  // The reader of the schedule checks them, with the package that reads cron expressions.
  cron: required(kind.anything<string>()),
  timezone: withDefault(kind.anything<string>(), 'UTC'),
  input: optional(kind.func<(tick: ScheduleTick) => unknown>()),
  overlap: withDefault(kind.oneOf('skip', 'queue', 'allow'), 'skip'),
  catchUp: withDefault(kind.oneOf('none', 'last', 'all'), 'last'),
} satisfies OptionTable<ScheduleOptions>;

/** A schedule with its defaults, and the times that it stands for. */
export interface SagaSchedule extends ScheduleRule {
  readonly input?: (tick: ScheduleTick) => unknown;
  /** The first tick after a time; both in milliseconds since the epoch. */
  readonly next: (after: number) => number;
}

/** A schedule as plain data, with its defaults. */
export type ScheduleRule = Readonly<Required<Omit<ScheduleOptions, 'input'>>>;
