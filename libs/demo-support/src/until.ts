import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST = 20_000;

/**
 * Looks until it sees something.
 * @throws Error past the deadline, saying what was waited for
 */
export async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  for (const end = Date.now() + LONGEST; ; await sleep(25)) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > end) throw new Error(`Waited ${LONGEST / 1_000} s, in vain, until ${what}`);
  }
}
