import type { Rng } from './rng.js';

/** Milliseconds. */
const LONGEST_LEASE = 30_000;

/** The name of all changes of the database's clock, to be left out of scenarios that are older. */
export const CLOCK_STEPS = 'clock steps';

/** The database's clock is set. */
export interface ClockStep {
  readonly name: string;
  readonly at: number;
  /** Milliseconds; below 0: back. */
  readonly by: number;
}

/** In one of six scenarios the database's clock is set, once or several times, as long as something goes wrong. */
export function clockSteps(
  chance: Rng,
  calm: number,
  isLeftOut: (name: string) => boolean,
): readonly ClockStep[] {
  const dice = chance.for(CLOCK_STEPS);
  const count = dice.happens(1 / 6) ? dice.int(1, 3) : 0;
  return Array.from({ length: count }, (_, n) => {
    const name = `clock step ${n}`;
    const of = chance.for(name);
    return { name, at: of.int(0, calm), by: Math.round(of.long(100, 60_000)) * of.among([-1, 1]) };
  }).filter(({ name }) => !isLeftOut(CLOCK_STEPS) && !isLeftOut(name));
}

/** The database's clock, beside time as it passes. */
export class DatabaseTime {
  private offset = 0;
  /** By how much it was set forward in all (ms). */
  ahead = 0;

  constructor(private readonly timeline: { readonly now: number }) {}

  private forwardAt = -Infinity;

  step(by: number): void {
    this.offset += by;
    this.ahead += Math.max(0, by);
    if (by > 0) this.forwardAt = this.timeline.now;
  }

  /** It was set forward lately, so that leases may have run out for the database and not for their holders. */
  get hasCutLeases(): boolean {
    return this.timeline.now - this.forwardAt < LONGEST_LEASE;
  }

  /** The time that the clock shows, in milliseconds since the beginning. */
  get now(): number {
    return this.timeline.now + this.offset;
  }

  /** Time as it passes, and what the clock was set forward: no duration ends before it has passed by this. */
  get passed(): number {
    return this.timeline.now + this.ahead;
  }

  /** The clock was set before. */
  get hasStepped(): boolean {
    return this.offset !== 0 || this.ahead !== 0;
  }
}
