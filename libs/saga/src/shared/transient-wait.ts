const FIRST = 20;
const LONGEST = 2_000;

/**
 * Milliseconds to wait before what failed for a transient reason is tried again.
 * @param tries how often it was tried again before
 * @param random 0 to 1: spreads those who failed together
 */
export function transientWait(tries: number, random: number): number {
  return Math.min(LONGEST, FIRST * 2 ** tries) * (0.5 + random / 2);
}
