/** Milliseconds before the first retry, and at most. */
export interface WaitBounds {
  readonly first: number;
  readonly longest: number;
}

const DATABASE: WaitBounds = { first: 20, longest: 2_000 };

/**
 * Milliseconds to wait before what failed for a transient reason is tried again: twice as long each time.
 * @param tries how often it was tried again before
 * @param random 0 to 1: spreads those who failed together
 * @param bounds default: those of a statement of the database, 20 ms and 2 s
 */
export function transientWait(tries: number, random: number, { first, longest } = DATABASE): number {
  return Math.min(longest, first * 2 ** tries) * (0.5 + random / 2);
}
