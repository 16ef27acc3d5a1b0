import { type Clock, sleep } from './clock.js';

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

/**
 * Makes a call until it succeeds, and waits longer each time.
 * @param isRepeated decides whether the call is made again after an error; it may throw another error instead
 */
export async function repeated<T>(
  call: () => Promise<T>,
  isRepeated: (error: unknown) => boolean,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isRepeated(error)) throw error;
    }
    await sleep(clock, transientWait(tries, random()));
  }
}
