import { partsOf, scenarioOf } from './scenario.js';
import { type Run, simulate } from './simulate.js';

/**
 * The names of all that can be left out of a failing scenario so that the same promise is still broken.
 * @param failed the run of the whole scenario
 */
export async function shrink(seed: number, failed: Run): Promise<string[]> {
  const { promise } = failed.violations[0]!;
  return leftOut(partsOf(scenarioOf(seed)), async (without) => {
    const { violations } = await simulate(scenarioOf(seed, new Set(without)));
    return violations.some((violation) => violation.promise === promise);
  });
}

/**
 * As many parts as can be left out: first halves of what there is, then ever smaller pieces, as long as it
 * helps (delta
 * debugging, by Zeller and Hildebrandt).
 */
export async function leftOut(
  parts: readonly string[],
  failsWithout: (parts: readonly string[]) => Promise<boolean>,
): Promise<string[]> {
  let without: string[] = [];
  let left = [...parts];
  for (let size = left.length; size >= 1; size = Math.floor(size / 2)) {
    const kept: string[] = [];
    for (let at = 0; at < left.length; at += size) {
      const piece = left.slice(at, at + size);
      if (await failsWithout([...without, ...piece])) without = [...without, ...piece];
      else kept.push(...piece);
    }
    left = kept;
  }
  return without;
}
