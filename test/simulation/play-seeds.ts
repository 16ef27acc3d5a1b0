import { scenarioOf } from './scenario.js';
import { simulate } from './simulate.js';

export interface Seeds {
  readonly from: number;
  readonly count: number;
}

export interface Played {
  readonly seeds: number;
  readonly sagas: number;
  /** Virtual milliseconds. */
  readonly time: number;
  readonly failed: readonly number[];
  /** Scenarios in which some saga never ends, since another needs an operator. */
  readonly waiting: number;
}

/** Plays one scenario after the other. `onProgress` receives the progress at intervals. */
export async function playSeeds(
  { from, count }: Seeds,
  onProgress: (played: Played) => void = () => undefined,
): Promise<Played> {
  let all: Played = NOTHING;
  let since: Played = NOTHING;
  for (let seed = from; seed < from + count; seed += 1) {
    const { violations, sagas, took, waiting } = await simulate(scenarioOf(seed)).catch((error: unknown) => {
      throw new Error(`Seed ${seed} ended with an error`, { cause: error });
    });
    const failed = violations.length > 0 ? [seed] : [];
    since = sum(since, { seeds: 1, sagas, time: took, failed, waiting: waiting.length > 0 ? 1 : 0 });
    // A failed seed is reported at once: the process may end before the next report.
    if (since.seeds < 100 && failed.length === 0 && seed < from + count - 1) continue;
    onProgress(since);
    all = sum(all, since);
    since = NOTHING;
  }
  return all;
}

export const NOTHING: Played = { seeds: 0, sagas: 0, time: 0, failed: [], waiting: 0 };

export function sum(a: Played, b: Played): Played {
  return {
    seeds: a.seeds + b.seeds,
    sagas: a.sagas + b.sagas,
    time: a.time + b.time,
    failed: [...a.failed, ...b.failed],
    waiting: a.waiting + b.waiting,
  };
}
